// Random uploads, most of them wrong: each is refused and changes nothing, or runs.  Arrays end where they end, for the sanitizers.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "tests/capi/bad_call.h"

namespace {

using namespace tdl::test;

constexpr uint32_t kMostSeqs = 3, kBlock = 16, kMostContext = 64;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(engine_() % end); }
  bool chance(uint32_t of) { return below(of) == 0; }

 private:
  std::mt19937 engine_;
};

// A heap array of exactly its size.
template <class T>
struct Exact {
  std::unique_ptr<T[]> data;
  uint32_t count;
  explicit Exact(const std::vector<T>& from) : data(new T[from.size()]), count(static_cast<uint32_t>(from.size())) { std::copy(from.begin(), from.end(), data.get()); }
  // One element becomes something else, mostly something nasty.
  void spoil(Random& random) {
    static constexpr int64_t kNasty[] = {-1, -2, 0, 1, 15, 16, 63, 64, 65, 191, 192, 4095, 4096, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
    if (count) data[random.below(count)] = static_cast<T>(random.chance(2) ? kNasty[random.below(std::size(kNasty))] : random.below(200));
  }
};

struct Shape {
  bool prefill = false;
  uint32_t rows_per_seq = 1;
};

struct Upload {
  Exact<uint32_t> tokens, positions, seq_len, query_start;
  Exact<int32_t> token_from, table, output_row, seq_slot;
  Exact<int64_t> slot;
  tdl_metadata m;
};

Upload make(Random& random, Shape shape) {
  std::vector<uint32_t> tokens, positions, seq_len, query_start = {0};
  std::vector<int32_t> token_from, table, output_row, seq_slot, blocks(kBadBlocks);
  std::vector<int64_t> slot;
  for (uint32_t i = 0; i < kBadBlocks; ++i) blocks[i] = static_cast<int32_t>(i);
  for (uint32_t i = kBadBlocks - 1; i > 0; --i) std::swap(blocks[i], blocks[random.below(i + 1)]);
  const uint32_t seqs = 1 + random.below(kMostSeqs), stride = kMostContext / kBlock;
  for (uint32_t s = 0; s < seqs; ++s) {
    const uint32_t rows = shape.prefill ? 1 + random.below(7) : shape.rows_per_seq;
    const bool out = random.chance(6);
    const uint32_t length = out ? 0 : rows + random.below(kMostContext - rows + 1);
    for (uint32_t i = 0; i < stride; ++i) table.push_back(blocks[s * stride + i]);
    for (uint32_t i = 0; i < rows; ++i) {
      const uint32_t index = length - rows + i, row = static_cast<uint32_t>(tokens.size());
      tokens.push_back(random.below(kVocab));
      token_from.push_back(-1);
      positions.push_back(out ? 0 : index);
      slot.push_back(out || random.chance(9) ? -1 : int64_t{table[s * stride + index / kBlock]} * kBlock + index % kBlock);
      seq_slot.push_back(-1);
      if (random.chance(2) && output_row.size() < 5) output_row.push_back(static_cast<int32_t>(row));
    }
    seq_len.push_back(length);
    query_start.push_back(static_cast<uint32_t>(tokens.size()));
  }
  Upload u{Exact(tokens), Exact(positions), Exact(seq_len), Exact(query_start), Exact(token_from), Exact(table), Exact(output_row), Exact(seq_slot), Exact(slot), {}};
  tdl_metadata& m = u.m;
  tdl_metadata_init(&m, sizeof m);
  m.num_rows = u.tokens.count;
  m.num_seqs = seqs;
  m.max_blocks_per_seq = stride;
  m.token_ids = u.tokens.data.get();
  m.positions = u.positions.data.get();
  m.seq_len = u.seq_len.data.get();
  m.block_table = u.table.data.get();
  if (shape.prefill && (seqs > 1 || random.chance(2))) m.query_start = u.query_start.data.get();
  if (random.chance(2)) m.slot = u.slot.data.get();
  if (random.chance(3)) m.token_from = u.token_from.data.get();
  if (random.chance(3)) m.seq_slot = u.seq_slot.data.get();
  if (random.chance(2)) {
    m.output_row = u.output_row.data.get();
    m.num_outputs = u.output_row.count;
  }
  return u;
}

void spoil(Random& random, Upload& u) {
  switch (random.below(10)) {
    case 0: return u.tokens.spoil(random);
    case 1: return u.positions.spoil(random);
    case 2: return u.seq_len.spoil(random);
    case 3: return u.query_start.spoil(random);
    case 4: return u.token_from.spoil(random);
    case 5: return u.table.spoil(random);
    case 6: return u.output_row.spoil(random);
    case 7: return u.seq_slot.spoil(random);
    case 8: return u.slot.spoil(random);
    default: break;
  }
  // Counts may only shrink: how long an array is, only its owner knows.
  uint32_t* const counts[] = {&u.m.num_rows, &u.m.num_seqs, &u.m.max_blocks_per_seq, &u.m.num_outputs};
  uint32_t& count = *counts[random.below(4)];
  count = random.below(count + 1);
}

}  // namespace

TEST_CASE("random uploads are refused whole or run whole") {
  uint32_t refused = 0, ran = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    for (const int32_t kv_mode : {TDL_KV_CALLER, TDL_KV_POOL}) {
      Random random(seed);
      Rig rig(kv_mode);
      if (kv_mode == TDL_KV_POOL) {  // the remaining blocks too, and one of them shared
        int32_t rest[4];
        rig.use(tdl_kv_alloc(rig.engine.get(), rest, 4, nullptr));
        rig.use(tdl_kv_retain(rig.engine.get(), rest, 1, nullptr));
      }
      const PassHandle wide[] = {begin_pass(rig.engine.get(), TDL_PASS_PREFILL, kMostSeqs), begin_pass(rig.engine.get(), TDL_PASS_DECODE, kMostSeqs),
                                 begin_pass(rig.engine.get(), TDL_PASS_DECODE, kMostSeqs, 2)};
      for (uint32_t round = 0; round < 300; ++round) {
        CAPTURE(seed);
        CAPTURE(round);
        const uint32_t kind = random.below(3);
        Upload u = make(random, {kind == 0, kind == 2 ? 2u : 1u});
        for (uint32_t i = random.below(4); i > 1; --i) spoil(random, u);
        const bool look = random.chance(10);  // a digest takes longer than a pass
        const uint64_t before = look ? rig.digest() : 0;
        Error error;
        const tdl_status status = tdl_upload_metadata(wide[kind].get(), &u.m, &error);
        if (status == TDL_OK) {
          ++ran;
          CHECK_MESSAGE(tdl_step(wide[kind].get(), &rig.out.result, &error) == TDL_OK, error.message);
          CHECK(rig.out.result.num_outputs <= 5);
        } else {
          ++refused;
          CHECK_MESSAGE((status == TDL_E_RANGE || status == TDL_E_CONFLICT || status == TDL_E_INVALID_ARGUMENT || status == TDL_E_LIMIT || status == TDL_E_STATE),
                        error.message);
          CHECK(error.message[0] != '\0');
          if (look) CHECK(rig.digest() == before);
        }
      }
    }
  }
  CHECK(refused > 400);
  CHECK(ran > 400);
}
