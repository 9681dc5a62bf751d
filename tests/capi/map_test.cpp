// tdl_pass_map: an upload that was filled in place gives the same bits as one from the caller's own arrays.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

constexpr uint32_t kBlock = 16, kSeqs = 4;

struct Side {
  EngineHandle engine;
  PassHandle prefill, decode, triple;
  std::vector<Sequence> sequences;

  Side() {
    engine = make_engine(golden_path("qwen3") + "/model", [](tdl_engine_config& config) {
      config.max_seqs = kSeqs;
      config.max_rows_per_seq = 3;
      config.max_prefill_rows = 48;
      config.max_context = 96;
      config.block_size = kBlock;
      config.max_outputs = 48;
    });
    prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, kSeqs);
    decode = begin_pass(engine.get(), TDL_PASS_DECODE, kSeqs);
    triple = begin_pass(engine.get(), TDL_PASS_DECODE, kSeqs, 3);
    for (int32_t s = 0; s < static_cast<int32_t>(kSeqs); ++s) sequences.push_back({{s, s + 4, s + 8, s + 12, s + 16, s + 20}, 0});
  }
};

template <class T>
void fill(const T* from, uint32_t count, const T** to) {
  if (!from) *to = nullptr;
  else std::copy_n(from, count, const_cast<T*>(*to));
}

// The metadata, moved into the pass's own arrays; the table with the stride that map gave.
tdl_metadata in_place(tdl_pass* pass, const tdl_metadata& from) {
  tdl_metadata m;
  tdl_metadata_init(&m, sizeof m);
  Error error;
  REQUIRE_MESSAGE(tdl_pass_map(pass, &m, &error) == TDL_OK, error.message);
  REQUIRE(m.num_rows >= from.num_rows);
  REQUIRE(m.num_seqs >= from.num_seqs);
  REQUIRE(m.max_blocks_per_seq >= from.max_blocks_per_seq);
  REQUIRE(m.num_outputs >= from.num_outputs);
  fill(from.token_ids, from.num_rows, &m.token_ids);
  fill(from.token_from, from.num_rows, &m.token_from);
  fill(from.positions, from.num_rows, &m.positions);
  fill(from.slot, from.num_rows, &m.slot);
  fill(from.seq_len, from.num_seqs, &m.seq_len);
  fill(from.query_start, from.num_seqs + 1, &m.query_start);
  fill(from.output_row, from.num_outputs, &m.output_row);
  for (uint32_t s = 0; s < from.num_seqs; ++s)
    std::copy_n(from.block_table + s * from.max_blocks_per_seq, from.max_blocks_per_seq, const_cast<int32_t*>(m.block_table) + s * m.max_blocks_per_seq);
  m.num_rows = from.num_rows;
  m.num_seqs = from.num_seqs;
  m.num_outputs = from.num_outputs;
  return m;
}

struct Variant {
  bool slots, outputs, token_from;
};

// The same pass on both sides, one of them mapped; the results must be equal.
void check_equal(Side& mapped, Side& foreign, PassHandle Side::*pass, const std::vector<std::pair<uint32_t, std::vector<uint32_t>>>& tokens, bool prefill,
                 const Variant& variant) {
  Results results[2] = {{mapped.engine.get(), 48}, {foreign.engine.get(), 48}};
  for (const int side : {0, 1}) {
    Side& own = side == 0 ? mapped : foreign;
    std::vector<Work> work;
    for (const auto& [s, row] : tokens) work.push_back({s < kSeqs ? &own.sequences[s] : nullptr, row, {}});
    Batch batch(work, prefill, kBlock);
    batch.explicit_slots = variant.slots;
    if (variant.outputs) {
      for (uint32_t row = 0; row < batch.rows(); row += 2) batch.output_row.push_back(static_cast<int32_t>(row));
    }
    tdl_metadata metadata = batch.metadata();
    if (!variant.token_from) metadata.token_from = nullptr;
    const tdl_metadata handed = side == 0 ? in_place((own.*pass).get(), metadata) : metadata;
    Error error;
    REQUIRE_MESSAGE(tdl_upload_metadata((own.*pass).get(), &handed, &error) == TDL_OK, error.message);
    REQUIRE_MESSAGE(tdl_step((own.*pass).get(), &results[side].result, &error) == TDL_OK, error.message);
    for (const Work& w : work) {
      if (w.sequence) w.sequence->length += static_cast<uint32_t>(w.tokens.size());
    }
  }
  const uint32_t outputs = results[0].result.num_outputs;
  REQUIRE(results[1].result.num_outputs == outputs);
  for (uint32_t o = 0; o < outputs; ++o) CHECK(results[0].tokens[o] == results[1].tokens[o]);
  CHECK(std::equal(results[0].logits.begin(), results[0].logits.begin() + outputs * results[0].vocab, results[1].logits.begin()));
  CHECK(std::equal(results[0].hidden.begin(), results[0].hidden.begin() + outputs * results[0].width, results[1].hidden.begin()));
}

std::vector<uint32_t> tokens(uint32_t count, uint32_t seed) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < count; ++i) out.push_back((i * 29 + seed * 53 + 1) % 192);
  return out;
}

}  // namespace

TEST_CASE("a mapped upload gives the same bits as a foreign one, in every kind of pass") {
  for (const Variant variant : {Variant{false, false, false}, Variant{true, false, true}, Variant{false, true, true}, Variant{true, true, false}}) {
    Side mapped, foreign;
    const auto check = [&](PassHandle Side::*pass, const std::vector<std::pair<uint32_t, std::vector<uint32_t>>>& work, bool prefill) {
      check_equal(mapped, foreign, pass, work, prefill, variant);
    };
    check(&Side::prefill, {{2, tokens(33, 0)}}, true);                                        // one sequence, several blocks
    check(&Side::prefill, {{0, tokens(5, 1)}, {1, tokens(20, 2)}, {3, tokens(1, 3)}}, true);  // ragged
    for (uint32_t step = 0; step < 20; ++step) {                                              // both stagings, across block edges
      check(&Side::decode, {{1, tokens(1, step)}, {2, tokens(1, step + 1)}, {3, tokens(1, step + 2)}}, false);
      check(&Side::decode, {{0, tokens(1, step)}}, false);
    }
    check(&Side::decode, {{0, {1}}, {99, {7}}, {2, {3}}}, false);  // the middle one sits out
    check(&Side::triple, {{3, tokens(3, 8)}, {99, tokens(3, 8)}, {1, tokens(3, 9)}}, false);
    check(&Side::prefill, {{99, tokens(4, 1)}, {0, tokens(6, 2)}}, true);
  }
}

TEST_CASE("map again gives the same arrays, and the view shows what was written into them") {
  Side side;
  tdl_metadata first, second;
  tdl_metadata_init(&first, sizeof first);
  tdl_metadata_init(&second, sizeof second);
  REQUIRE(tdl_pass_map(side.decode.get(), &first, nullptr) == TDL_OK);
  REQUIRE(tdl_pass_map(side.decode.get(), &second, nullptr) == TDL_OK);
  CHECK(first.token_ids == second.token_ids);
  CHECK(first.block_table == second.block_table);
  CHECK(first.num_rows == kSeqs);
  CHECK(first.num_seqs == kSeqs);
  CHECK(first.max_blocks_per_seq == 6);
  CHECK(first.query_start == nullptr);
  CHECK(first.seq_slot == nullptr);
  CHECK(first.positions_h == nullptr);
  tdl_metadata other;
  tdl_metadata_init(&other, sizeof other);
  REQUIRE(tdl_pass_map(side.prefill.get(), &other, nullptr) == TDL_OK);
  CHECK(other.num_rows == 48);
  CHECK(other.query_start != nullptr);
  CHECK(other.token_ids != first.token_ids);
}

TEST_CASE("map is BUSY while two submits are unfinished") {
  Side side;
  Sequence& sequence = side.sequences[0];
  tdl_metadata m;
  tdl_metadata_init(&m, sizeof m);
  for (int round = 0; round < 50; ++round) {
    uint64_t ticket = 0;
    for (int i = 0; i < 2; ++i) {
      sequence.length = 0;
      const Batch batch({{&sequence, tokens(48, 1), {}}}, true, kBlock);
      const tdl_metadata metadata = batch.metadata();
      REQUIRE(tdl_upload_metadata(side.prefill.get(), &metadata, nullptr) == TDL_OK);
      REQUIRE(tdl_submit(side.prefill.get(), &ticket, nullptr) == TDL_OK);
    }
    const tdl_status status = tdl_pass_map(side.prefill.get(), &m, nullptr);
    const bool pending = tdl_wait(side.engine.get(), ticket - 1, 0, nullptr, nullptr) == TDL_PENDING;
    if (pending) CHECK(status == TDL_E_BUSY);
    REQUIRE(tdl_wait(side.engine.get(), ticket, UINT64_MAX, nullptr, nullptr) == TDL_OK);
    CHECK(tdl_pass_map(side.prefill.get(), &m, nullptr) == TDL_OK);
    if (pending) return;
  }
  FAIL("never were two submits unfinished");
}
