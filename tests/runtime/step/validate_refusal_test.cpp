// Every refusal of an upload: its code, row and sequence.  Bench checks that the scratch is all zero afterwards.
#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "runtime/step/validate.h"
#include "tests/runtime/step/given.h"

using namespace tdl;
using tdl::test::Bench;
using tdl::test::Given;
using tdl::test::given;
using tdl::test::implied_slots;

namespace {

// Two sequences of two rows each.
Given pair_of(PassKind kind) { return given({{2, 6, {0, 1}}, {2, 3, {2}}}, kind == PassKind::prefill); }

constexpr PassKind kKinds[] = {PassKind::decode, PassKind::prefill};

}  // namespace

TEST_SUITE("validate refuses") {
  TEST_CASE("nothing to run") {
    for (const PassKind kind : kKinds) {
      const Bench bench(kind, 2);
      Given g = pair_of(kind);
      g.num_rows = 0;
      bench.refuse(g, Code::invalid_argument, -1, -1, "nothing to run");
      g = pair_of(kind);
      g.num_seqs = 0;
      bench.refuse(g, Code::invalid_argument, -1, -1, "nothing to run");
    }
  }

  TEST_CASE("more sequences, rows or outputs than begun for, with the number needed, before any array is read") {
    const Bench bench(PassKind::decode, 2);
    Given none;
    none.num_seqs = 5;
    none.num_rows = 10;
    bench.refuse(none, Code::limit, -1, -1, "5 sequences");
    CHECK(bench.run(none).status().required() == 5);
    none.num_seqs = 4;
    none.num_rows = 9;
    bench.refuse(none, Code::limit, -1, -1, "9 rows");
    CHECK(bench.run(none).status().required() == 9);
    none.num_rows = 8;
    none.outputs({0, 1, 2, 3, 4, 5, 6});
    bench.refuse(none, Code::limit, -1, -1, "7 outputs");
    CHECK(bench.run(none).status().required() == 7);
    CHECK(check_counts(none.upload(), bench.pass, bench.limits).code() == Code::limit);
    none.outputs({0, 1, 2, 3, 4, 5});
    CHECK(check_counts(none.upload(), bench.pass, bench.limits).ok());
  }

  TEST_CASE("an output for each sequence where max_outputs is less") {
    Bench bench(PassKind::decode);
    bench.limits.max_outputs = 1;
    bench.refuse(given({{1, 1, {0}}, {1, 1, {1}}}, false), Code::limit, -1, -1, "2 outputs");
  }

  TEST_CASE("arrays that are missing") {
    for (const PassKind kind : kKinds) {
      const Bench bench(kind, 2);
      Given g = pair_of(kind);
      g.positions.reset();
      bench.refuse(g, Code::invalid_argument, -1, -1, "positions");
      g = pair_of(kind);
      g.seq_len.reset();
      bench.refuse(g, Code::invalid_argument, -1, -1, "seq_len");
      g = pair_of(kind);
      g.block_table.reset();
      bench.refuse(g, Code::invalid_argument, -1, -1, "block_table");
      g = pair_of(kind);
      g.token_ids.reset();
      bench.refuse(g, Code::invalid_argument, -1, -1, "token_ids");
      g.token_from = std::vector<int32_t>{-1, -1, -1, -1};
      bench.refuse(g, Code::invalid_argument, 0, 0, "token_ids");
    }
  }

  TEST_CASE("rows that are not sequences times rows per sequence, on a decode pass") {
    const Bench bench(PassKind::decode, 2);
    Given g = pair_of(PassKind::decode);
    g.num_rows = 3;
    bench.refuse(g, Code::invalid_argument, -1, -1, "3 rows");
    g = pair_of(PassKind::decode);
    g.query_start = std::vector<uint32_t>{0, 2, 4};
    bench.refuse(g, Code::invalid_argument, -1, -1, "query_start");
  }

  TEST_CASE("several sequences without query_start, on a prefill") {
    const Bench bench(PassKind::prefill);
    Given g = pair_of(PassKind::prefill);
    g.query_start.reset();
    bench.refuse(g, Code::invalid_argument, -1, -1, "query_start");
  }

  TEST_CASE("a query_start that does not cover the rows in order") {
    const Bench bench(PassKind::prefill);
    Given g = pair_of(PassKind::prefill);
    const auto refuse = [&](std::vector<uint32_t> starts, int32_t seq, const char* part) {
      g.query_start = std::move(starts);
      bench.refuse(g, Code::invalid_argument, -1, seq, part);
    };
    refuse({1, 2, 4}, 0, "begins with 1");
    refuse({0, 0, 4}, 0, "sequence 0 the rows 0 to 0");
    refuse({0, 4, 4}, 1, "sequence 1 the rows 4 to 4");
    refuse({0, 3, 2}, 1, "sequence 1 the rows 3 to 2");
    refuse({0, 5, 4}, 0, "sequence 0 the rows 0 to 5");
    refuse({0, 2, 3}, 1, "ends at 3");
    refuse({0, 2, 5}, 1, "sequence 1 the rows 2 to 5");
    refuse({0, 0xFFFFFFFFu, 4}, 0, "sequence 0 the rows 0 to 4294967295");
  }

  TEST_CASE("outputs that are no rows, and outputs out of order") {
    for (const PassKind kind : kKinds) {
      const Bench bench(kind, 2);
      Given g = pair_of(kind);
      g.outputs({0, 4});
      bench.refuse(g, Code::range, 4, -1, "output_row 4 at index 1");
      g.outputs({-1});
      bench.refuse(g, Code::range, -1, -1, "output_row -1 at index 0");
      g.outputs({0, -7});
      bench.refuse(g, Code::range, -1, -1, "output_row -7");
      g.outputs({2, 1});
      bench.refuse(g, Code::invalid_argument, 1, -1, "not ascending at index 1");
      g.outputs({0, 2, 2});
      bench.refuse(g, Code::invalid_argument, 2, -1, "not ascending at index 2");
    }
  }

  TEST_CASE("lengths that are too short for the rows or too long for the engine") {
    for (const PassKind kind : kKinds) {
      const Bench bench(kind, 2);
      Given g = pair_of(kind);
      (*g.seq_len)[1] = 1;
      bench.refuse(g, Code::range, -1, 1, "less than its 2 rows");
      g = given({{2, 6, {0, 1}}, {2, 21, {2, 3, 4, 5, 6, 7}}}, kind == PassKind::prefill);
      bench.refuse(g, Code::range, -1, 1, "the longest is 20");
      (*g.seq_len)[1] = 0xFFFFFFFFu;
      bench.refuse(g, Code::range, -1, 1, "the longest is 20");
    }
  }

  TEST_CASE("a table that is too narrow for the length") {
    const Bench bench(PassKind::decode, 2);
    Given g = pair_of(PassKind::decode);
    (*g.seq_len)[1] = 9;
    bench.refuse(g, Code::range, -1, 1, "needs 3 blocks, block_table has 2");
    g = given({{2, 0, {}}, {2, 2, {}}}, false);
    g.block_table.reset();
    bench.refuse(g, Code::range, -1, 1, "needs 1 blocks, block_table has 0");
  }

  TEST_CASE("blocks that there are not") {
    for (const int32_t block : {-1, 8, INT32_MIN, INT32_MAX}) {
      const Bench bench(PassKind::decode, 2);
      Given g = pair_of(PassKind::decode);
      (*g.block_table)[1] = block;
      bench.refuse(g, Code::range, -1, 0, "at index 1 of sequence 0");
    }
  }

  TEST_CASE("free blocks, with a pool") {
    Bench bench(PassKind::decode, 2);
    bench.references = std::vector<uint32_t>{1, 1, 0, 0, 0, 0, 0, 0};
    bench.refuse(pair_of(PassKind::decode), Code::conflict, -1, 1, "block 2 of sequence 1 is free");
  }

  TEST_CASE("a shared block that is written, with a pool") {
    Bench bench(PassKind::decode, 2);
    bench.references = std::vector<uint32_t>{5, 2, 1, 0, 0, 0, 0, 0};
    bench.refuse(pair_of(PassKind::decode), Code::conflict, 0, 0, "block 1, which has 2 references");
    bench.references = std::vector<uint32_t>{5, 1, 2, 0, 0, 0, 0, 0};
    bench.refuse(pair_of(PassKind::decode), Code::conflict, 2, 1, "block 2, which has 2 references");
  }

  TEST_CASE("tokens out of the vocabulary") {
    for (const uint32_t token : {50u, 0xFFFFFFFFu}) {
      const Bench bench(PassKind::decode, 2);
      Given g = pair_of(PassKind::decode);
      (*g.token_ids)[3] = token;
      bench.refuse(g, Code::range, 3, 1, "the vocabulary has 50");
    }
  }

  TEST_CASE("a token_from that names no sampled token") {
    Bench bench(PassKind::decode, 2);
    Given g = pair_of(PassKind::decode);
    g.token_from = std::vector<int32_t>{-1, 0, -1, -1};
    bench.refuse(g, Code::state, 1, 0, "has sampled none");
    const uint8_t live[] = {1, 0};
    bench.previous = {true, 2, live};
    bench.accept(g);
    bench.previous = {false, 2, live};
    bench.refuse(g, Code::state, 1, 0, "has sampled none");
    bench.previous = {true, 2, live};
    for (const int32_t from : {1, 2, INT32_MAX}) {  // an output that sat out; none
      (*g.token_from)[1] = from;
      bench.refuse(g, Code::range, 1, 0, "no such token");
    }
    for (const int32_t from : {-2, INT32_MIN}) {
      (*g.token_from)[1] = from;
      bench.refuse(g, Code::range, 1, 0, "token_from");
    }
    bench.previous = {true, 0, nullptr};
    (*g.token_from)[1] = 0;
    bench.refuse(g, Code::range, 1, 0, "no such token");
  }

  TEST_CASE("a row without any token") {
    Bench bench(PassKind::decode, 2);
    const uint8_t live[] = {1};
    bench.previous = {true, 1, live};
    Given g = pair_of(PassKind::decode);
    g.token_ids.reset();
    g.token_from = std::vector<int32_t>{0, 0, -1, 0};
    bench.refuse(g, Code::invalid_argument, 2, 1, "token_ids is null");
  }

  TEST_CASE("positions at or past the limit, in any stream") {
    Bench bench(PassKind::prefill);
    bench.limits.mrope = true;
    Given g = pair_of(PassKind::prefill);
    (*g.positions)[2] = 24;
    bench.refuse(g, Code::range, 2, 1, "position 24");
    g = pair_of(PassKind::prefill);
    g.positions_h = g.positions;
    (*g.positions_h)[1] = 24;
    bench.refuse(g, Code::range, 1, 0, "position 24");
    g = pair_of(PassKind::prefill);
    g.positions_w = g.positions;
    (*g.positions_w)[3] = 0xFFFFFFFFu;
    bench.refuse(g, Code::range, 3, 1, "position 4294967295");
  }

  TEST_CASE("position streams that differ, without MRoPE and on every decode pass") {
    Bench bench(PassKind::prefill);
    Given g = pair_of(PassKind::prefill);
    g.positions_w = g.positions;
    (*g.positions_w)[3] += 1;
    bench.refuse(g, Code::unsupported, 3, 1, "without MRoPE");
    bench = Bench(PassKind::decode, 2);
    bench.limits.mrope = true;
    g = pair_of(PassKind::decode);
    g.positions_h = g.positions;
    (*g.positions_h)[0] += 1;
    bench.refuse(g, Code::unsupported, 0, 0, "decode");
  }

  TEST_CASE("adapter slots that there are not, also where the sequence sits out") {
    const Bench bench(PassKind::decode, 2);
    Given g = given({{2, 6, {0, 1}}, {2, 0, {}}}, false);
    for (const int32_t slot : {2, -3, INT32_MAX, INT32_MIN}) {
      g.seq_slot = std::vector<int32_t>{0, 1, -1, slot};
      bench.refuse(g, Code::range, 3, 1, "seq_slot");
    }
    g.seq_slot.reset();
    for (const int32_t slot : {2, INT32_MAX}) {
      g.moe_row_adapter = std::vector<int32_t>{0, slot, 1, -9};
      bench.refuse(g, Code::range, 1, 0, "moe_row_adapter");
    }
  }

  TEST_CASE("every adapter slot, on an engine without adapters") {
    Bench bench(PassKind::decode, 2);
    bench.limits.max_adapters = 0;
    Given g = pair_of(PassKind::decode);
    g.seq_slot = std::vector<int32_t>{-1, -2, 0, -1};
    bench.refuse(g, Code::range, 2, 1, "0 adapter slots");
    g.seq_slot.reset();
    g.moe_row_adapter = std::vector<int32_t>{-1, 0, -1, -1};
    bench.refuse(g, Code::range, 1, 0, "moe_row_adapter 0");
  }

  TEST_CASE("slots that there are not") {
    for (const int64_t slot : {int64_t{-2}, int64_t{32}, INT64_MIN, INT64_MAX, int64_t{1} << 32}) {
      const Bench bench(PassKind::decode, 2);
      Given g = pair_of(PassKind::decode);
      g.slot = implied_slots(g, bench.pass, 4);
      (*g.slot)[2] = slot;
      bench.refuse(g, Code::range, 2, 1, "there are 32");
    }
  }

  TEST_CASE("a slot outside the row's block table") {
    const Bench bench(PassKind::decode, 2);
    Given g = pair_of(PassKind::decode);
    g.slot = implied_slots(g, bench.pass, 4);
    (*g.slot)[3] = 7 * 4;
    bench.refuse(g, Code::conflict, 3, 1, "outside the table of sequence 1");
    (*g.slot)[3] = 0;  // in the other sequence's
    bench.refuse(g, Code::conflict, 3, 1, "outside the table of sequence 1");
  }

  TEST_CASE("a slot in a table entry past the length") {
    const Bench bench(PassKind::decode, 1);
    Given g = given({{1, 4, {0, 1}}}, false);
    g.slot = std::vector<int64_t>{4};
    bench.refuse(g, Code::conflict, 0, 0, "outside the table");
  }

  TEST_CASE("a slot in a sequence that sits out") {
    const Bench bench(PassKind::decode, 2);
    Given g = given({{2, 6, {0, 1}}, {2, 0, {2}}}, false);
    g.slot = std::vector<int64_t>{4, 5, -1, 8};
    bench.refuse(g, Code::conflict, 3, 1, "sits out");
  }

  TEST_CASE("a slot that is written twice: by one sequence, by two, by tables that share a block") {
    const Bench bench(PassKind::decode, 2);
    Given g = pair_of(PassKind::decode);
    g.slot = std::vector<int64_t>{4, 4, 9, 10};
    bench.refuse(g, Code::conflict, 1, 0, "slot 4 is written twice");
    g = given({{2, 6, {0, 1}}, {2, 7, {0, 1}}}, false);
    bench.refuse(g, Code::conflict, 2, 1, "slot 5 is written twice");
    g = given({{2, 4, {0}}, {2, 8, {2, 0}}}, false);
    bench.refuse(g, Code::conflict, 2, 1, "slot 2 is written twice");
  }

  TEST_CASE("a reader of a slot that another sequence writes") {
    const Bench bench(PassKind::prefill);
    Given g = given({{2, 4, {0}}, {1, 5, {0, 1}}}, true);
    bench.refuse(g, Code::conflict, -1, 1, "sequence 1 reads block 0");
    g = given({{1, 5, {0, 1}}, {2, 4, {0}}}, true);  // the writer comes second
    bench.refuse(g, Code::conflict, -1, 0, "sequence 0 reads block 0");
    g = given({{1, 3, {0}}, {1, 4, {0}}}, true);
    g.slot = std::vector<int64_t>{-1, 2};
    bench.refuse(g, Code::conflict, -1, 0, "sequence 0 reads block 0");
  }

  TEST_CASE("a sequence that reads at two places what it writes, whether its slots are spelled out or not") {
    for (const PassKind kind : kKinds) {
      const Bench bench(kind, 1);
      Given g = given({{1, 8, {3, 3}}}, false);
      bench.refuse(g, Code::conflict, -1, 0, "sequence 0 reads block 3");
      g.slot = implied_slots(g, bench.pass, 4);
      bench.refuse(g, Code::conflict, -1, 0, "sequence 0 reads block 3");
      g.slot = std::vector<int64_t>{12};
      bench.refuse(g, Code::conflict, -1, 0, "sequence 0 reads block 3");
    }
  }

  TEST_CASE("more than 2^31 attention chunks") {
    Bench bench(PassKind::prefill);
    const uint32_t rows = 33000;
    bench.limits.block_size = bench.limits.max_context = bench.limits.max_positions = 1u << 24;
    bench.limits.vocab_size = 1u << 24;
    bench.limits.num_blocks = 1;
    bench.pass.max_rows = rows;
    Given g = given({{rows, 1u << 24, {0}}}, false);
    g.slot = std::vector<int64_t>(rows, -1);
    const Status status = bench.run(g).status();
    CHECK(status.code() == Code::limit);
    CHECK(status.row() > 32768);
    CHECK(status.seq() == 0);
    g = given({{32768, 1u << 24, {0}}}, false);
    g.slot = std::vector<int64_t>(rows, -1);
    CHECK(bench.accept(g).chunks > 2'100'000'000u);
  }

  TEST_CASE("the first of several faults, with nothing left in the scratch by the rows before") {
    const Bench bench(PassKind::prefill);
    Given g = given({{8, 8, {0, 1}}, {8, 8, {2, 3}}}, true);
    g.slot = implied_slots(g, bench.pass, 4);
    (*g.slot)[15] = 0;
    bench.refuse(g, Code::conflict, 15, 1, "outside the table");
    (*g.slot)[15] = (*g.slot)[14];
    bench.refuse(g, Code::conflict, 15, 1, "written twice");
    (*g.slot)[15] = 99;
    bench.refuse(g, Code::range, 15, 1, "slot 99");
  }
}
