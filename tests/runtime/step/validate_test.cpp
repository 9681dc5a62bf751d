// What an upload may be: valid ones with the shape they give.  validate_refusal_test.cpp has what is refused.
#include "runtime/step/validate.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "tests/runtime/step/given.h"

using namespace tdl;
using tdl::test::Bench;
using tdl::test::Given;
using tdl::test::given;
using tdl::test::implied_slots;

TEST_SUITE("validate accepts") {
  TEST_CASE("a decode of three sequences, padded to its bucket") {
    const Bench bench(PassKind::decode);
    const PassShape shape = bench.accept(given({{1, 1, {0}}, {1, 9, {1, 2, 3}}, {1, 5, {4, 5}}}, false));
    CHECK(shape.kind == PassKind::decode);
    CHECK(shape.rows == 3);
    CHECK(shape.seqs == 3);
    CHECK(shape.outputs == 3);
    CHECK(shape.bucket == 4);
    CHECK(shape.padded_seqs == 4);
    CHECK(shape.padded_rows == 4);
    CHECK(shape.padded_outputs == 4);
    CHECK(shape.rows_per_seq == 1);
    CHECK(shape.stride == 3);
    CHECK(shape.chunks == 3);
    CHECK_FALSE(shape.ragged);
    CHECK_FALSE(shape.every_row);
    CHECK_FALSE(shape.token_from);
  }

  TEST_CASE("several rows per sequence, with an output for each sequence") {
    const Bench bench(PassKind::decode, 3);
    const PassShape shape = bench.accept(given({{3, 3, {0}}, {3, 7, {1, 2}}}, false));
    CHECK(shape.rows == 6);
    CHECK(shape.bucket == 2);
    CHECK(shape.padded_rows == 6);
    CHECK(shape.outputs == 2);
    CHECK(shape.padded_outputs == 2);
    CHECK_FALSE(shape.every_row);
  }

  TEST_CASE("more outputs than the bucket has sequences, padded to rows within max_outputs") {
    Bench bench(PassKind::decode, 3);
    Given g = given({{3, 3, {0}}, {3, 7, {1, 2}}}, false);
    g.outputs({0, 1, 5});
    const PassShape shape = bench.accept(g);
    CHECK(shape.outputs == 3);
    CHECK(shape.every_row);
    CHECK(shape.padded_outputs == 6);
    bench.limits.max_outputs = 4;
    CHECK(bench.accept(g).padded_outputs == 4);
  }

  TEST_CASE("a bucket that is larger than max_outputs") {
    Bench bench(PassKind::decode);
    bench.limits.max_outputs = 2;
    Given g = given({{1, 1, {0}}, {1, 1, {1}}, {1, 1, {2}}}, false);
    g.outputs({1, 2});
    const PassShape shape = bench.accept(g);
    CHECK(shape.padded_outputs == 2);
    CHECK_FALSE(shape.every_row);
  }

  TEST_CASE("no outputs at all") {
    const Bench bench(PassKind::prefill);
    Given g = given({{5, 5, {0, 1}}}, false);
    g.outputs({});
    const PassShape shape = bench.accept(g);
    CHECK(shape.outputs == 0);
    CHECK(shape.padded_outputs == 0);
  }

  TEST_CASE("num_outputs is not looked at without output_row") {
    const Bench bench(PassKind::prefill);
    Given g = given({{5, 5, {0, 1}}}, false);
    g.num_outputs = 1000;
    CHECK(bench.accept(g).outputs == 1);
  }

  TEST_CASE("every row of a prefill as an output, in order") {
    const Bench bench(PassKind::prefill);
    Given g = given({{5, 8, {0, 1}}}, false);
    g.outputs({0, 1, 2, 3, 4});
    const PassShape shape = bench.accept(g);
    CHECK(shape.outputs == 5);
    CHECK(shape.padded_outputs == 5);
    CHECK_FALSE(shape.every_row);
  }

  TEST_CASE("a prefill of one sequence without query_start, not padded") {
    const Bench bench(PassKind::prefill);
    const PassShape shape = bench.accept(given({{7, 9, {5, 0, 3}}}, false));
    CHECK(shape.kind == PassKind::prefill);
    CHECK(shape.rows == 7);
    CHECK(shape.padded_rows == 7);
    CHECK(shape.seqs == 1);
    CHECK(shape.padded_seqs == 1);
    CHECK(shape.padded_outputs == 1);
    CHECK(shape.bucket == 0);
    CHECK(shape.rows_per_seq == 0);
    CHECK(shape.stride == 3);
    CHECK_FALSE(shape.ragged);
  }

  TEST_CASE("query_start for one sequence, which is not ragged all the same") {
    const Bench bench(PassKind::prefill);
    CHECK_FALSE(bench.accept(given({{7, 9, {5, 0, 3}}}, true)).ragged);
  }

  TEST_CASE("a ragged prefill") {
    const Bench bench(PassKind::prefill);
    const PassShape shape = bench.accept(given({{1, 6, {0, 1}}, {8, 8, {2, 3}}, {3, 3, {4}}}, true));
    CHECK(shape.ragged);
    CHECK(shape.rows == 12);
    CHECK(shape.padded_rows == 12);
    CHECK(shape.padded_seqs == 3);
    CHECK(shape.stride == 2);
    CHECK(shape.outputs == 3);
  }

  TEST_CASE("lengths at a block's boundary, one before and one after") {
    const Bench bench(PassKind::decode);
    CHECK(bench.accept(given({{1, 3, {0}}}, false)).stride == 1);
    CHECK(bench.accept(given({{1, 4, {0}}}, false)).stride == 1);
    CHECK(bench.accept(given({{1, 5, {0, 1}}}, false)).stride == 2);
    CHECK(bench.accept(given({{1, 20, {0, 1, 2, 3, 4}}}, false)).stride == 5);
  }

  TEST_CASE("a table that is wider than the pass needs, with anything past the length") {
    const Bench bench(PassKind::decode);
    Given g = given({{1, 4, {0, -5, 1 << 30}}, {1, 8, {1, 2, 0}}}, false);
    const PassShape shape = bench.accept(g);
    CHECK(g.max_blocks_per_seq == 3);
    CHECK(shape.stride == 2);
  }

  TEST_CASE("attention chunks of 256 positions, counted up to each row's own KV index") {
    Bench bench(PassKind::prefill);
    bench.limits.block_size = 128;
    bench.limits.max_context = bench.limits.max_positions = 1024;
    bench.limits.vocab_size = 1024;
    CHECK(bench.accept(given({{2, 256, {0, 1}}}, false)).chunks == 2);
    CHECK(bench.accept(given({{2, 257, {0, 1, 2}}}, false)).chunks == 3);
    CHECK(bench.accept(given({{1, 513, {0, 1, 2, 3, 4}}}, false)).chunks == 3);
    CHECK(bench.accept(given({{1, 257, {0, 1, 2}}, {2, 2, {3}}, {1, 0, {}}}, true)).chunks == 4);
    CHECK(bench.accept(given({{3, 3, {0}}, {2, 255, {1, 2}}, {2, 257, {3, 4, 5}}}, true)).chunks == 3 + 2 + 3);
  }

  TEST_CASE("sequences that sit out, whatever their tokens, positions and table are") {
    const Bench bench(PassKind::decode, 2);
    Given g = given({{2, 4, {0}}, {2, 0, {}}, {2, 2, {1}}}, false);
    (*g.token_ids)[2] = (*g.positions)[3] = 0xFFFFFFFFu;
    g.token_from = std::vector<int32_t>{-1, -1, -50, 77, -1, -1};
    const PassShape shape = bench.accept(g);
    CHECK(shape.seqs == 3);
    CHECK(shape.chunks == 4);
    CHECK_FALSE(shape.token_from);
    g.slot = implied_slots(g, bench.pass, 4);
    CHECK((*g.slot)[2] == -1);
    CHECK(bench.accept(g).chunks == 4);
  }

  TEST_CASE("a pass in which everybody sits out, without a table") {
    const Bench bench(PassKind::decode);
    Given g = given({{1, 0, {}}, {1, 0, {}}}, false);
    g.block_table.reset();
    const PassShape shape = bench.accept(g);
    CHECK(shape.stride == 0);
    CHECK(shape.chunks == 0);
    CHECK(shape.bucket == 2);
  }

  TEST_CASE("rows with slot -1 that only read") {
    const Bench bench(PassKind::prefill);
    Given g = given({{3, 7, {0, 1}}, {2, 5, {2, 3}}}, true);
    g.slot = std::vector<int64_t>{-1, 5, 6, -1, -1};
    CHECK(bench.accept(g).rows == 5);
  }

  TEST_CASE("explicit slots that equal the implied ones") {
    for (const PassKind kind : {PassKind::decode, PassKind::prefill}) {
      const Bench bench(kind, 2);
      Given g = given({{2, 5, {7, 3}}, {2, 4, {2}}, {2, 12, {4, 6, 5}}}, kind == PassKind::prefill);
      const PassShape implied = bench.accept(g);
      g.slot = implied_slots(g, bench.pass, 4);
      const PassShape spelled = bench.accept(g);
      CHECK(spelled.chunks == implied.chunks);
      CHECK(spelled.stride == implied.stride);
    }
  }

  TEST_CASE("an explicit slot at another place of the sequence's table") {
    const Bench bench(PassKind::decode);
    Given g = given({{1, 6, {3, 5}}}, false);
    g.slot = std::vector<int64_t>{3 * 4 + 2};
    CHECK(bench.accept(g).rows == 1);
    g.slot = std::vector<int64_t>{5 * 4 + 3};  // past the length, in its last block
    CHECK(bench.accept(g).rows == 1);
  }

  TEST_CASE("rows of a sequence that trade their slots") {
    const Bench bench(PassKind::prefill);
    Given g = given({{6, 6, {3, 5}}}, false);
    std::vector<int64_t> slots = implied_slots(g, bench.pass, 4);
    std::swap(slots[1], slots[5]);
    std::swap(slots[0], slots[2]);
    g.slot = slots;
    CHECK(bench.accept(g).rows == 6);
  }

  TEST_CASE("blocks that several sequences read") {
    Bench bench(PassKind::decode);
    Given g = given({{1, 9, {0, 1, 2}}, {1, 10, {0, 1, 3}}, {1, 5, {0, 4}}}, false);
    CHECK(bench.accept(g).seqs == 3);
    bench.references = std::vector<uint32_t>{3, 2, 1, 1, 1, 0, 0, 0};
    CHECK(bench.accept(g).seqs == 3);
  }

  TEST_CASE("a block that a sequence reads twice, where nothing is written") {
    const Bench bench(PassKind::decode);
    CHECK(bench.accept(given({{1, 9, {6, 6, 2}}}, false)).stride == 3);
  }

  TEST_CASE("a reader of a block's front while another sequence writes behind it") {
    const Bench bench(PassKind::prefill);
    Given g = given({{1, 3, {0}}, {1, 4, {0}}}, true);
    g.slot = std::vector<int64_t>{-1, 3};
    CHECK(bench.accept(g).seqs == 2);
  }

  TEST_CASE("with a pool: a written block that has one reference, read blocks with any") {
    Bench bench(PassKind::prefill);
    bench.references = std::vector<uint32_t>{0, 0xFFFFFFFFu, 1, 0, 0, 0, 0, 0};
    const Given g = given({{2, 6, {1, 2}}}, false);
    CHECK(bench.accept(g).rows == 2);
  }

  TEST_CASE("with a pool: a shared block in a row that only reads, and free blocks past the length") {
    Bench bench(PassKind::decode);
    bench.references = std::vector<uint32_t>{2, 0, 0, 0, 0, 0, 0, 0};
    Given g = given({{1, 4, {0, 5}}}, false);
    g.slot = std::vector<int64_t>{-1};
    CHECK(bench.accept(g).rows == 1);
  }

  TEST_CASE("tokens that the previous submit sampled") {
    Bench bench(PassKind::decode);
    const uint8_t live[] = {1, 0, 1};
    bench.previous = {true, 3, live};
    Given g = given({{1, 1, {0}}, {1, 1, {1}}, {1, 1, {2}}}, false);
    g.token_from = std::vector<int32_t>{2, -1, 0};
    CHECK(bench.accept(g).token_from);
    g.token_from = std::vector<int32_t>{-1, -1, -1};
    CHECK_FALSE(bench.accept(g).token_from);
    (*g.token_ids)[0] = 0xFFFFFFFFu;  // not looked at
    g.token_from = std::vector<int32_t>{2, -1, 2};
    CHECK(bench.accept(g).token_from);
    g.token_ids.reset();
    g.token_from = std::vector<int32_t>{2, 0, 0};
    CHECK(bench.accept(g).token_from);
  }

  TEST_CASE("the last token, the last position, the last block and the longest sequence") {
    const Bench bench(PassKind::decode);
    Given g = given({{1, 20, {0, 1, 2, 3, 7}}}, false);
    g.token_ids = std::vector<uint32_t>{49};
    g.positions = std::vector<uint32_t>{23};
    CHECK(bench.accept(g).stride == 5);
  }

  TEST_CASE("position streams that equal the first, on every kind of pass") {
    for (const PassKind kind : {PassKind::decode, PassKind::prefill}) {
      const Bench bench(kind);
      Given g = given({{1, 3, {0}}}, false);
      g.positions_h = g.positions_w = g.positions;
      CHECK(bench.accept(g).rows == 1);
    }
  }

  TEST_CASE("position streams that differ, on a prefill of a model with MRoPE") {
    Bench bench(PassKind::prefill);
    bench.limits.mrope = true;
    Given g = given({{2, 3, {0}}}, false);
    g.positions_h = std::vector<uint32_t>{0, 23};
    CHECK(bench.accept(g).rows == 2);
    g.positions_w = std::vector<uint32_t>{9, 9};
    CHECK(bench.accept(g).rows == 2);
  }

  TEST_CASE("adapter slots, base, active, and any negative expert entry") {
    const Bench bench(PassKind::decode);
    Given g = given({{1, 1, {0}}, {1, 1, {1}}, {1, 1, {2}}, {1, 1, {3}}}, false);
    g.seq_slot = std::vector<int32_t>{0, 1, kAdapterBase, kAdapterActive};
    g.moe_row_adapter = std::vector<int32_t>{-1, -1000, 0, 1};
    CHECK(bench.accept(g).rows == 4);
  }
}

TEST_SUITE("step scratch") {
  TEST_CASE("counts the slots of a range across words") {
    StepScratch scratch(10, 16);
    for (const uint64_t slot : {0u, 63u, 64u, 130u, 159u}) CHECK_FALSE(scratch.test_and_set_slot(slot));
    CHECK(scratch.test_and_set_slot(64));
    CHECK(scratch.count_slots(0, 160) == 5);
    CHECK(scratch.count_slots(63, 2) == 2);
    CHECK(scratch.count_slots(1, 62) == 0);
    CHECK(scratch.count_slots(64, 64) == 1);
    CHECK(scratch.count_slots(130, 30) == 2);
    CHECK(scratch.count_slots(130, 0) == 0);
    for (const uint64_t slot : {0u, 64u, 130u}) scratch.clear_slot(slot);
    CHECK(scratch.count_slots(0, 160) == 0);
  }

  TEST_CASE("marks blocks") {
    StepScratch scratch(70, 16);
    scratch.set_block(69);
    CHECK(scratch.block_is_set(69));
    CHECK_FALSE(scratch.block_is_set(68));
    CHECK_FALSE(scratch.block_is_set(5));
    scratch.clear_block(69);
    CHECK_FALSE(scratch.block_is_set(69));
  }
}

TEST_SUITE("write_slot") {
  TEST_CASE("gives the slot of the caller, else the table's, else none for a sequence that sits out") {
    Given g = given({{2, 6, {3, 5}}, {2, 0, {}}}, false);
    CHECK(write_slot(g.upload(), 4, 0, 0, 4) == 5 * 4);
    CHECK(write_slot(g.upload(), 4, 0, 1, 3) == 3 * 4 + 3);
    CHECK(write_slot(g.upload(), 4, 1, 2, kv_index(0, 2, 0)) == -1);
    g.slot = std::vector<int64_t>{9, -1, -1, -1};
    CHECK(write_slot(g.upload(), 4, 0, 0, 4) == 9);
    CHECK(write_slot(g.upload(), 4, 0, 1, 5) == -1);
  }

  TEST_CASE("a slot beyond 32 bits") {
    Given g = given({{1, 3, {0x7FFFFFFF}}}, false);
    CHECK(write_slot(g.upload(), 128, 0, 0, 2) == int64_t{0x7FFFFFFF} * 128 + 2);
  }
}
