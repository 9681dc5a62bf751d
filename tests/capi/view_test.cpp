// The view: addresses that never change, nulls as the contract says, and what the kernels read behind them.
#include <doctest/doctest.h>

#include <map>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

tdl_metadata_view view_of(tdl_pass* pass) {
  tdl_metadata_view view;
  tdl_metadata_view_init(&view, sizeof view);
  Error error;
  REQUIRE_MESSAGE(tdl_pass_get_view(pass, &view, &error) == TDL_OK, error.message);
  return view;
}

template <class T>
std::vector<T> read(uint64_t address, uint32_t count) {  // device "cpu": addresses are pointers
  const T* data = reinterpret_cast<const T*>(address);
  return {data, data + count};
}

EngineHandle engine_of(uint32_t max_seqs) {
  return make_engine(golden_path("llama-v4") + "/model", [=](tdl_engine_config& config) {
    config.max_seqs = max_seqs;
    config.max_rows_per_seq = 2;
    config.max_prefill_rows = 32;
    config.max_context = 64;
    config.block_size = 16;
  });
}

const std::map<std::string, uint64_t tdl_metadata_view::*> kFields = {
    {"token_ids", &tdl_metadata_view::token_ids},   {"positions", &tdl_metadata_view::positions},
    {"positions_h", &tdl_metadata_view::positions_h}, {"positions_w", &tdl_metadata_view::positions_w},
    {"slot", &tdl_metadata_view::slot},             {"seq_len", &tdl_metadata_view::seq_len},
    {"block_table", &tdl_metadata_view::block_table}, {"query_start", &tdl_metadata_view::query_start},
    {"seq_slot", &tdl_metadata_view::seq_slot},     {"moe_row_adapter", &tdl_metadata_view::moe_row_adapter},
    {"logits", &tdl_metadata_view::logits},         {"tokens", &tdl_metadata_view::tokens},
    {"hidden", &tdl_metadata_view::hidden},
};

}  // namespace

TEST_CASE("the view of a decode pass shows the padded bucket, inert beyond the live rows") {
  EngineHandle engine = engine_of(8);
  PassHandle pass = begin_pass(engine.get(), TDL_PASS_DECODE, 8);
  std::vector<Sequence> sequences = {{{3, 5}, 16}, {{7}, 0}, {{1, 9, 4}, 40}};
  run(engine.get(), pass.get(), {{&sequences[0], {10}, {}}, {&sequences[1], {11}, {}}, {&sequences[2], {12}, {}}}, false);
  const tdl_metadata_view view = view_of(pass.get());
  CHECK(view.num_seqs == 4);
  CHECK(view.num_rows == 4);
  CHECK(view.max_blocks_per_seq == 3);
  CHECK(read<uint32_t>(view.token_ids, 4) == std::vector<uint32_t>{10, 11, 12, 0});
  CHECK(read<uint32_t>(view.positions, 4) == std::vector<uint32_t>{16, 0, 40, 0});
  CHECK(read<int64_t>(view.slot, 4) == std::vector<int64_t>{5 * 16, 7 * 16, 4 * 16 + 8, -1});
  CHECK(read<uint32_t>(view.seq_len, 4) == std::vector<uint32_t>{17, 1, 41, 0});
  CHECK(read<int32_t>(view.block_table, 12) == std::vector<int32_t>{3, 5, 0, 7, 0, 0, 1, 9, 4, 0, 0, 0});
}

TEST_CASE("the view's nulls: query_start on ragged prefill alone, no adapter addresses without LoRA, h and w equal positions") {
  EngineHandle engine = engine_of(4);
  PassHandle decode = begin_pass(engine.get(), TDL_PASS_DECODE, 4), prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 4);
  std::vector<Sequence> sequences = {{{0, 1}, 0}, {{2, 3}, 0}};
  run(engine.get(), prefill.get(), {{&sequences[0], {1, 2, 3}, {}}}, true);
  const tdl_metadata_view one = view_of(prefill.get());
  CHECK(one.query_start == 0);
  CHECK(one.num_seqs == 1);
  CHECK(one.num_rows == 3);
  run(engine.get(), prefill.get(), {{&sequences[0], {4}, {}}, {&sequences[1], {5, 6}, {}}}, true);
  const tdl_metadata_view ragged = view_of(prefill.get());
  REQUIRE(ragged.query_start != 0);
  CHECK(read<uint32_t>(ragged.query_start, 3) == std::vector<uint32_t>{0, 1, 3});
  CHECK(ragged.num_seqs == 2);
  run(engine.get(), decode.get(), {{&sequences[0], {7}, {}}, {&sequences[1], {8}, {}}}, false);
  const tdl_metadata_view decoded = view_of(decode.get());
  CHECK(decoded.query_start == 0);
  for (const tdl_metadata_view& view : {one, ragged, decoded}) {
    CHECK(view.seq_slot == 0);
    CHECK(view.moe_row_adapter == 0);
    CHECK(view.positions_h == view.positions);
    CHECK(view.positions_w == view.positions);
    for (const auto& [name, field] : kFields) {
      if (name == "query_start" || name == "seq_slot" || name == "moe_row_adapter") continue;
      CHECK_MESSAGE(view.*field != 0, name);
    }
  }
}

TEST_CASE("a single-sequence decode in a bucket of one has num_seqs 1") {
  EngineHandle engine = engine_of(4);
  PassHandle decode = begin_pass(engine.get(), TDL_PASS_DECODE, 4, 2);
  Sequence sequence{{0, 1}, 4};
  run(engine.get(), decode.get(), {{&sequence, {1, 2}, {}}}, false);
  CHECK(view_of(decode.get()).num_seqs == 1);
  CHECK(view_of(decode.get()).num_rows == 2);
}

TEST_CASE("the view's addresses stay the same for the engine's life, field by field") {
  EngineHandle engine = engine_of(8);
  std::map<std::string, uint64_t> seen;  // kind and field -> address
  std::vector<Sequence> sequences;
  for (int32_t s = 0; s < 8; ++s) sequences.push_back({{4 * s, 4 * s + 1, 4 * s + 2, 4 * s + 3}, 0});
  for (uint32_t round = 0; round < 12; ++round) {
    for (const bool is_prefill : {true, false}) {
      // A new pass object every time, of another size, with other lengths: nothing of it may show.
      const uint32_t count = 1 + (round * 3) % 8, rows = is_prefill ? 1 + round % 3 : 1 + round % 2;
      PassHandle pass = begin_pass(engine.get(), is_prefill ? TDL_PASS_PREFILL : TDL_PASS_DECODE, count, rows);
      std::vector<Work> work;
      for (uint32_t s = 0; s < count; ++s) work.push_back({&sequences[s], std::vector<uint32_t>(rows, 5 + s), {}});
      run(engine.get(), pass.get(), work, is_prefill, false, false);
      const tdl_metadata_view view = view_of(pass.get());
      for (const auto& [name, field] : kFields) {
        if (view.*field == 0) continue;
        const auto [at, first] = seen.emplace((is_prefill ? "prefill " : "decode ") + name, view.*field);
        CHECK_MESSAGE(at->second == view.*field, at->first);
      }
      if (!is_prefill) CHECK(view.query_start == 0);
    }
  }
  CHECK(seen.size() == 2 * 10 + 1);  // all fields but the adapters' on both kinds, and query_start on prefill
  CHECK(seen.at("prefill logits") == seen.at("decode logits"));
}
