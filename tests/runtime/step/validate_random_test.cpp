// Random uploads, sound ones and ones with a few faults, against the slow reference.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/runtime/step/given.h"
#include "tests/runtime/step/slow_validate.h"

using namespace tdl;
using namespace tdl::test;

namespace {

class Dice {
 public:
  explicit Dice(uint32_t seed) : bits_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(bits_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) { return *(values.begin() + below(static_cast<uint32_t>(values.size()))); }
  template <class T>
  T& any(std::vector<T>& values) { return values[below(static_cast<uint32_t>(values.size()))]; }

 private:
  std::mt19937 bits_;
};

constexpr uint8_t kLive[] = {1, 0, 1, 1};

Bench random_bench(Dice& dice) {
  Bench bench(dice.one_in(2) ? PassKind::decode : PassKind::prefill, 1 + dice.below(3));
  bench.limits.mrope = dice.one_in(2);
  bench.limits.max_outputs = 3 + dice.below(6);
  if (!dice.one_in(3)) bench.previous = {!dice.one_in(6), 4, kLive};
  return bench;
}

// Sequences with blocks of their own, some of which share the blocks before those they write, or trade places in the table.
Given random_given(Dice& dice, Bench& bench) {
  std::vector<int32_t> free = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<Seq> seqs(1 + dice.below(4));
  uint32_t rows_left = bench.pass.max_rows;
  std::vector<int32_t> shared;
  for (size_t s = 0; s < seqs.size(); ++s) {
    const auto more = static_cast<uint32_t>(seqs.size() - s - 1);
    Seq& seq = seqs[s];
    seq.rows = bench.pass.kind == PassKind::decode ? bench.pass.rows_per_seq : 1 + dice.below(std::min(5u, rows_left - more));
    rows_left -= seq.rows;
    if (dice.one_in(6)) {
      seq.length = 0;
      continue;
    }
    const uint32_t old = std::min(dice.below(9), 20 - seq.rows);
    if (dice.one_in(2) && !shared.empty()) seq.blocks.assign(shared.begin(), shared.begin() + dice.below(2));
    seq.length = std::max(old, static_cast<uint32_t>(seq.blocks.size()) * 4) + seq.rows;
    while (seq.blocks.size() * 4 < seq.length) {
      const uint32_t k = dice.below(static_cast<uint32_t>(free.size()));
      seq.blocks.push_back(free[k]);
      if (free.size() > 1) free.erase(free.begin() + k);  // the last block may be given out twice
    }
    if (seq.length - seq.rows >= 4) shared = {seq.blocks[0]};
    if (dice.one_in(4)) seq.blocks.push_back(static_cast<int32_t>(dice.below(12)) - 2);
  }
  Given g = given(seqs, bench.pass.kind == PassKind::prefill && (seqs.size() > 1 || dice.one_in(2)));
  if (!dice.one_in(3)) {
    bench.references = std::vector<uint32_t>(8, 0);
    for (const Seq& seq : seqs) {
      for (size_t i = 0; i < seq.blocks.size() && i * 4 < seq.length; ++i) ++(*bench.references)[static_cast<size_t>(seq.blocks[i])];
    }
  }
  return g;
}

// Optional arrays, still sound.
void dress(Dice& dice, const Bench& bench, Given& g) {
  if (dice.one_in(2)) g.slot = implied_slots(g, bench.pass, 4);
  if (g.slot && dice.one_in(2)) dice.any(*g.slot) = -1;
  if (g.slot && dice.one_in(4)) std::swap(dice.any(*g.slot), dice.any(*g.slot));
  if (dice.one_in(3)) g.token_from = std::vector<int32_t>(g.num_rows, -1);
  if (g.token_from && bench.previous.sampled) dice.any(*g.token_from) = dice.of({0, 2, 3});
  if (dice.one_in(4)) g.positions_h = g.positions;
  if (dice.one_in(4)) g.positions_w = g.positions;
  if (g.positions_h && bench.limits.mrope && bench.pass.kind == PassKind::prefill) dice.any(*g.positions_h) = dice.below(24);
  if (dice.one_in(3)) g.seq_slot = std::vector<int32_t>(g.num_rows, dice.of({-2, -1, 0, 1}));
  if (dice.one_in(3)) g.moe_row_adapter = std::vector<int32_t>(g.num_rows, dice.of({-3, -2, -1, 0, 1}));
  if (dice.one_in(3)) {
    std::vector<int32_t> rows;
    for (uint32_t row = 0; row < g.num_rows && rows.size() < bench.limits.max_outputs; ++row) {
      if (dice.one_in(2)) rows.push_back(static_cast<int32_t>(row));
    }
    g.outputs(rows);
  }
}

void break_slots(Dice& dice, Bench& bench, const std::vector<int64_t>& slots, Given& g) {
  switch (dice.below(4)) {
    case 0:
      if (!g.slot) g.slot = slots;
      dice.any(*g.slot) = dice.of<int64_t>({-2, -1, 0, 5, 13, 31, 32, int64_t{1} << 33});
      break;
    case 1:
      if (!g.slot) g.slot = slots;
      dice.any(*g.slot) = dice.any(*g.slot);
      break;
    case 2:
      if (bench.references) dice.any(*bench.references) = dice.below(3);
      break;
    default:
      if (g.block_table && !g.block_table->empty()) dice.any(*g.block_table) = dice.of({-1, 0, 1, 2, 3, 4, 5, 6, 7, 8});
  }
}

// One fault, or what may turn out to be none.  `slots` are those that the sound upload implied.
void break_one(Dice& dice, Bench& bench, const std::vector<int64_t>& slots, Given& g) {
  switch (dice.below(16)) {
    case 0: if (g.token_ids) dice.any(*g.token_ids) = dice.of({49u, 50u, 0xFFFFFFFFu}); break;
    case 1: if (g.positions) dice.any(*g.positions) = dice.of({0u, 23u, 24u}); break;
    case 2: if (g.positions_w) dice.any(*g.positions_w) = dice.of({0u, 23u, 24u}); break;
    case 3: if (g.seq_len) dice.any(*g.seq_len) = dice.below(24); break;
    case 4: if (g.seq_slot) dice.any(*g.seq_slot) = dice.of({-3, 2, 1}); break;
    case 5: if (g.moe_row_adapter) dice.any(*g.moe_row_adapter) = dice.of({-9, 2, 1}); break;
    case 6: if (g.token_from) dice.any(*g.token_from) = dice.of({-2, 0, 1, 4}); break;
    case 7: if (g.output_row && !g.output_row->empty()) dice.any(*g.output_row) = dice.of({-3, -1, 0, 2, 20}); break;
    case 8: if (g.query_start) dice.any(*g.query_start) = dice.below(9); break;
    case 9:
      switch (dice.below(9)) {
        case 0: g.positions.reset(); break;
        case 1: g.seq_len.reset(); break;
        case 2: g.block_table.reset(); break;
        case 3: g.token_ids.reset(); break;
        case 4: g.query_start.reset(); break;
        case 5: --g.num_rows; break;  // the arrays stay long enough
        case 6: bench.pass.max_seqs = 1 + dice.below(4); break;
        case 7: bench.pass.max_rows = 1 + dice.below(8); break;
        default: bench.limits.max_outputs = dice.below(4);
      }
      break;
    default: break_slots(dice, bench, slots, g);
  }
}

}  // namespace

TEST_SUITE("validate, at random") {
  TEST_CASE("agrees with the slow reference on what is sound, and on the reason where there is one") {
    std::map<Code, uint32_t> seen;
    uint32_t single = 0, placed = 0;
    for (uint32_t seed = 0; seed < 40000; ++seed) {
      Dice dice(seed);
      Bench bench = random_bench(dice);
      Given g = random_given(dice, bench);
      dress(dice, bench, g);
      const std::vector<int64_t> slots = implied_slots(g, bench.pass, 4);
      for (uint32_t faults = dice.below(3); faults > 0; --faults) break_one(dice, bench, slots, g);
      const Reasons reasons = slow_validate(g, bench);
      const Status status = bench.run(g).status();
      CAPTURE(seed);
      CAPTURE(std::string(status.message()));
      REQUIRE(status.ok() == reasons.empty());
      ++seen[status.code()];
      if (status.ok()) continue;
      const auto same_code = [&](const Reason& reason) { return reason.code == status.code(); };
      REQUIRE(std::any_of(reasons.begin(), reasons.end(), same_code));
      if (reasons.size() > 1) continue;
      ++single;
      REQUIRE(reasons.begin()->row == status.row());
      REQUIRE(reasons.begin()->seq == status.seq());
      placed += status.seq() >= 0;
    }
    // The dice must have shown enough of each.
    CHECK(seen[Code::ok] > 10000);
    CHECK(seen[Code::range] > 1000);
    CHECK(seen[Code::conflict] > 1000);
    CHECK(seen[Code::invalid_argument] > 500);
    CHECK(seen[Code::limit] > 200);
    CHECK(seen[Code::unsupported] > 50);
    CHECK(seen[Code::state] > 50);
    CHECK(single > 5000);
    CHECK(placed > 4000);
  }
}
