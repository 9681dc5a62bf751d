// The staging, byte by byte.  metadata_block_test.cpp has the block on the device.
#include "runtime/step/metadata.h"

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

#include "tests/runtime/step/given.h"
#include "tests/runtime/step/staging.h"

using namespace tdl;
using namespace tdl::test;

namespace {

Bench big_bench(PassKind kind, uint32_t rows_per_seq = 1) {
  Bench bench(kind, rows_per_seq);
  bench.limits.num_blocks = 64;
  bench.limits.block_size = 32;
  bench.limits.max_context = bench.limits.max_positions = bench.limits.vocab_size = 1000;
  bench.limits.max_outputs = 8;
  bench.limits.buckets = default_buckets(8);
  bench.pass.max_seqs = 8;
  bench.pass.max_rows = kind == PassKind::decode ? 8 * rows_per_seq : 40;
  return bench;
}

// Three sequences of two rows, the second of which sits out; bucket 4.
Given verify_pass() {
  Given g = given({{2, 300, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}}, {2, 0, {}}, {2, 34, {20, 21}}}, false);
  g.token_from = std::vector<int32_t>{-1, 0, 0, 0, 0, -1};
  g.positions = std::vector<uint32_t>{11, 12, 13, 14, 15, 16};
  g.token_ids = std::vector<uint32_t>{101, 102, 103, 104, 105, 106};
  g.seq_slot = std::vector<int32_t>{0, 1, 1, 0, -1, 1};
  g.moe_row_adapter = std::vector<int32_t>{1, -1, 0, 1, 0, -5};
  return g;
}

}  // namespace

TEST_SUITE("write_staging") {
  TEST_CASE("writes live rows, inert rows of a sequence that sits out, and padding, section by section") {
    Bench bench = big_bench(PassKind::decode, 2);
    const uint8_t live[] = {1};
    bench.previous = {true, 1, live};
    const Given g = verify_pass();
    Staging staging(bench, {.adapters = true});
    const PassShape shape = bench.accept(g);
    const GroupLayout& at = staging.layout.decode;
    CHECK(shape.padded_rows == 8);
    const uint64_t end = staging.write(g, shape);

    CHECK(staging.read<uint32_t>(at.token_ids, 8) == std::vector<uint32_t>{101, 102, 0, 0, 105, 106, 0, 0});
    CHECK(staging.read<int32_t>(at.token_from, 8) == std::vector<int32_t>{-1, 0, -1, -1, 0, -1, -1, -1});
    CHECK(staging.read<uint32_t>(at.positions, 8) == std::vector<uint32_t>{11, 12, 0, 0, 15, 16, 0, 0});
    CHECK(staging.read<int64_t>(at.slot, 8) == std::vector<int64_t>{10, 11, -1, -1, 21 * 32, 21 * 32 + 1, -1, -1});
    CHECK(staging.read<uint32_t>(at.chunk_start, 9) == std::vector<uint32_t>{0, 2, 4, 4, 4, 5, 6, 6, 6});
    CHECK(staging.read<uint32_t>(at.seq_len, 4) == std::vector<uint32_t>{300, 0, 34, 0});
    CHECK(staging.read<int32_t>(at.output_row, 4) == std::vector<int32_t>{1, -1, 5, -1});
    CHECK(staging.read<int32_t>(at.seq_slot, 8) == std::vector<int32_t>{0, 1, -1, -1, -1, 1, -1, -1});
    CHECK(staging.read<int32_t>(at.moe_row_adapter, 8) == std::vector<int32_t>{1, -1, -1, -1, 0, -5, -1, -1});
    std::vector<int32_t> table = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    table.resize(20, 0);
    table.insert(table.end(), {20, 21});
    table.resize(40, 0);
    CHECK(staging.read<int32_t>(at.block_table, 40) == table);
    CHECK(end == at.block_table + 40 * 4);
  }

  TEST_CASE("fills the header, whose reserved words are zero") {
    Bench bench = big_bench(PassKind::decode, 2);
    const uint8_t live[] = {1};
    bench.previous = {true, 1, live};
    Given g = verify_pass();
    g.outputs({0, 1, 4, 5});
    Staging staging(bench);
    staging.write(g, bench.accept(g));
    const auto header = staging.read<PassHeader>(staging.layout.decode.header, 1)[0];
    CHECK(header.num_rows == 6);
    CHECK(header.num_seqs == 3);
    CHECK(header.num_outputs == 4);
    CHECK(header.table_stride == 10);
    CHECK(header.active_slot == -1);
    CHECK(header.num_chunks == 6);
    for (const uint32_t word : header.reserved) CHECK(word == 0);
  }

  TEST_CASE("packs the table at the longest live sequence, not at the caller's width") {
    const Bench bench = big_bench(PassKind::decode);
    const Given g = given({{1, 32, {5, -1, -2, 9}}, {1, 33, {6, 7, 1 << 30, 0}}, {1, 0, {4, 4, 4, 4}}}, false);
    Staging staging(bench);
    const PassShape shape = bench.accept(g);
    const uint64_t end = staging.write(g, shape);
    CHECK(shape.stride == 2);
    CHECK(staging.read<int32_t>(staging.layout.decode.block_table, 8) == std::vector<int32_t>{5, 0, 6, 7, 0, 0, 0, 0});
    CHECK(end == staging.layout.decode.block_table + 4 * 2 * 4);
  }

  TEST_CASE("without adapters and token_from: base everywhere, tokens from the host") {
    const Bench bench = big_bench(PassKind::decode);
    const Given g = given({{1, 3, {0}}}, false);
    Staging staging(bench, {.adapters = true});
    staging.write(g, bench.accept(g));
    CHECK(staging.read<int32_t>(staging.layout.decode.seq_slot, 1)[0] == -1);
    CHECK(staging.read<int32_t>(staging.layout.decode.moe_row_adapter, 1)[0] == -1);
    CHECK(staging.read<int32_t>(staging.layout.decode.token_from, 1)[0] == -1);
  }

  TEST_CASE("without token_ids, where the device has every token: zeros") {
    Bench bench = big_bench(PassKind::decode);
    const uint8_t live[] = {1};
    bench.previous = {true, 1, live};
    Given g = given({{1, 3, {0}}, {1, 5, {1}}, {1, 5, {2}}}, false);
    g.token_ids.reset();
    g.token_from = std::vector<int32_t>{0, 0, 0};
    Staging staging(bench);
    staging.write(g, bench.accept(g));
    CHECK(staging.read<uint32_t>(staging.layout.decode.token_ids, 4) == std::vector<uint32_t>{0, 0, 0, 0});
    CHECK(staging.read<int32_t>(staging.layout.decode.token_from, 4) == std::vector<int32_t>{0, 0, 0, -1});
  }

  TEST_CASE("a ragged prefill has query_start and is not padded") {
    const Bench bench = big_bench(PassKind::prefill);
    Given g = given({{1, 513, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, {3, 3, {20}}, {2, 0, {}}, {4, 260, {30, 31, 32, 33, 34, 35, 36, 37, 38}}}, true);
    g.outputs({0, 2, 4, 9});
    Staging staging(bench);
    const PassShape shape = bench.accept(g);
    const GroupLayout& at = staging.layout.prefill;
    const uint64_t end = staging.write(g, shape);
    CHECK(staging.read<uint32_t>(at.query_start, 5) == std::vector<uint32_t>{0, 1, 4, 6, 10});
    CHECK(staging.read<uint32_t>(at.chunk_start, 11) == std::vector<uint32_t>{0, 3, 4, 5, 6, 6, 6, 8, 10, 12, 14});
    CHECK(staging.read<int32_t>(at.output_row, 4) == std::vector<int32_t>{0, 2, -1, 9});  // row 4 sits out
    CHECK(staging.read<int64_t>(at.slot, 10) == std::vector<int64_t>{16 * 32, 20 * 32, 20 * 32 + 1, 20 * 32 + 2, -1, -1, 38 * 32, 38 * 32 + 1, 38 * 32 + 2, 38 * 32 + 3});
    CHECK(staging.untouched(at.token_ids + 10 * 4, at.token_from));
    CHECK(staging.untouched(at.query_start + 5 * 4, at.block_table));
    CHECK(end == at.block_table + 4 * 17 * 4);
  }

  TEST_CASE("a prefill of one sequence leaves query_start alone") {
    const Bench bench = big_bench(PassKind::prefill);
    const Given g = given({{5, 40, {1, 2}}}, true);
    Staging staging(bench);
    staging.write(g, bench.accept(g));
    CHECK(staging.untouched(staging.layout.prefill.query_start, staging.layout.prefill.block_table));
  }

  TEST_CASE("explicit slots go up as they are, -1 too") {
    const Bench bench = big_bench(PassKind::prefill);
    Given g = given({{3, 40, {1, 2}}}, false);
    g.slot = std::vector<int64_t>{-1, 2 * 32 + 30, 32};
    Staging staging(bench);
    staging.write(g, bench.accept(g));
    CHECK(staging.read<int64_t>(staging.layout.prefill.slot, 3) == *g.slot);
  }

  TEST_CASE("outputs of more rows than sequences are padded with -1 up to the bucket's rows") {
    const Bench bench = big_bench(PassKind::decode, 2);
    Given g = given({{2, 4, {0}}, {2, 2, {1}}, {2, 2, {2}}}, false);
    g.outputs({0, 1, 2, 4, 5});
    Staging staging(bench);
    const PassShape shape = bench.accept(g);
    staging.write(g, shape);
    CHECK(shape.padded_outputs == 8);
    CHECK(staging.read<int32_t>(staging.layout.decode.output_row, 8) == std::vector<int32_t>{0, 1, 2, 4, 5, -1, -1, -1});
  }

  TEST_CASE("nothing outside the used entries of its own group is written") {
    for (const PassKind kind : {PassKind::decode, PassKind::prefill}) {
      const Bench bench = big_bench(kind);
      const Given g = given({{1, 70, {0, 1, 2}}, {1, 40, {3, 4}}, {1, 0, {}}}, kind == PassKind::prefill);
      Staging staging(bench, {.adapters = true});
      const PassShape shape = bench.accept(g);
      const uint64_t end = staging.write(g, shape);
      std::vector<bool> used(staging.layout.bytes, false);
      for (const auto& [offset, bytes] : used_parts(shape, staging.group(kind))) std::fill_n(used.begin() + static_cast<int64_t>(offset), bytes, true);
      uint64_t stray = 0, last = 0;
      for (uint64_t i = 0; i < used.size(); ++i) {
        stray += !used[i] && !staging.untouched(i, i + 1);
        if (used[i]) last = i + 1;
      }
      CHECK(stray == 0);
      CHECK(last == end);
    }
  }

  TEST_CASE("a pass of any shape gives the same bytes whatever the staging held before") {
    std::mt19937 dice(7);
    for (const PassKind kind : {PassKind::decode, PassKind::prefill}) {
      const Bench bench = big_bench(kind, 2);
      Staging used(bench, {.adapters = true});
      for (uint32_t round = 0; round < 200; ++round) {
        const Given g = random_pass(dice, kind, 2);
        const PassShape shape = bench.accept(g);
        Staging fresh(bench, {.adapters = true});
        const uint64_t end = fresh.write(g, shape);
        REQUIRE(used.write(g, shape) == end);
        for (const auto& [offset, bytes] : used_parts(shape, fresh.group(kind)))
          REQUIRE(std::memcmp(fresh.bytes.data() + offset, used.bytes.data() + offset, bytes) == 0);
      }
    }
  }

  TEST_CASE("arrays that are filled in place give the same bytes as foreign ones") {
    std::mt19937 dice(11);
    for (const PassKind kind : {PassKind::decode, PassKind::prefill}) {
      const Bench bench = big_bench(kind, 2);
      for (uint32_t round = 0; round < 400; ++round) {
        Given g = random_pass(dice, kind, 2);
        if (dice() % 2) g.slot = implied_slots(g, bench.pass, 32);
        const PassShape shape = bench.accept(g);
        Staging foreign(bench, {.adapters = true}), mapped(bench, {.adapters = true});
        const uint64_t end = foreign.write(g, shape);
        const auto in_place = static_cast<uint32_t>(round % 3 == 0 ? 0xFFFFFFFFu : dice());  // all arrays, or some
        REQUIRE(mapped.write_in_place(g, shape, in_place) == end);
        for (const auto& [offset, bytes] : used_parts(shape, foreign.group(kind)))
          REQUIRE(std::memcmp(foreign.bytes.data() + offset, mapped.bytes.data() + offset, bytes) == 0);
      }
    }
  }
}

TEST_SUITE("attn_metadata") {
  TEST_CASE("gives the sections' addresses, and counts with the padding") {
    const Bench bench = big_bench(PassKind::decode);
    const Given g = given({{1, 70, {0, 1, 2}}, {1, 40, {3, 4}}, {1, 1, {5}}}, false);
    const Staging staging(bench);
    const GroupLayout& at = staging.layout.decode;
    const AttnMetadata meta = attn_metadata(bench.accept(g), at, 0x100000);
    CHECK(meta.positions.address == 0x100000 + at.positions);
    CHECK(meta.positions_h == meta.positions);
    CHECK(meta.positions_w == meta.positions);
    CHECK(meta.slot.address == 0x100000 + at.slot);
    CHECK(meta.seq_len.address == 0x100000 + at.seq_len);
    CHECK(meta.block_table.address == 0x100000 + at.block_table);
    CHECK_FALSE(meta.query_start);
    CHECK_FALSE(meta.seq_slot);
    CHECK_FALSE(meta.moe_row_adapter);
    CHECK(meta.max_blocks_per_seq == 3);
    CHECK(meta.num_seqs == 4);
  }

  TEST_CASE("query_start is null on a prefill of one sequence and there on a ragged one") {
    const Bench bench = big_bench(PassKind::prefill);
    const Staging staging(bench);
    const GroupLayout& at = staging.layout.prefill;
    const AttnMetadata one = attn_metadata(bench.accept(given({{5, 40, {1, 2}}}, true)), at, 0x100000);
    CHECK_FALSE(one.query_start);
    CHECK(one.num_seqs == 1);
    const AttnMetadata two = attn_metadata(bench.accept(given({{5, 40, {1, 2}}, {1, 1, {3}}}, true)), at, 0x100000);
    CHECK(two.query_start.address == 0x100000 + at.query_start);
    CHECK(two.num_seqs == 2);
    CHECK(two.positions == one.positions);
  }
}
