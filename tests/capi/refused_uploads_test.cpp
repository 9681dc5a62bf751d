// Refused uploads: every check of tdl_upload_metadata, by the field that is wrong.
#include <doctest/doctest.h>

#include <climits>
#include <cmath>

#include "tests/capi/bad_call.h"

namespace {

using namespace tdl::test;

tdl_status upload(Rig& rig, tdl_error* error) { return tdl_upload_metadata(rig.pass, &rig.in.m, error); }

// A row of the table: what is wrong with a good decode of two sequences (rows 0 and 1, KV indices 20 and 4).
BadCall decode(std::string name, Change change, tdl_status status, int32_t row = -1, int32_t seq = -1, uint64_t required = 0) {
  return {"decode: " + name, std::move(change), upload, status, row, seq, required};
}

// The same with a good prefill: rows 0 to 2 of sequence 0 (indices 20 to 22), rows 3 and 4 of sequence 1 (indices 4 and 5).
BadCall prefill(std::string name, Change change, tdl_status status, int32_t row = -1, int32_t seq = -1, uint64_t required = 0) {
  const auto all = [change = std::move(change)](Rig& rig) {
    rig.use_prefill();
    change(rig);
  };
  return {"prefill: " + name, all, upload, status, row, seq, required};
}

// With one sampling entry changed.
BadCall sampling(std::string name, Change change, tdl_status status) {
  const auto all = [change = std::move(change)](Rig& rig) {
    rig.in.m.sampling = rig.in.sampling;
    change(rig);
  };
  return {"sampling: " + name, all, upload, status};
}

}  // namespace

TEST_CASE("refuses uploads whose counts or arrays do not fit the pass") {
  check_refused({
      decode("no rows", [](Rig& r) { r.in.m.num_rows = 0; }, TDL_E_INVALID_ARGUMENT),
      decode("no sequences", [](Rig& r) { r.in.m.num_seqs = 0; }, TDL_E_INVALID_ARGUMENT),
      decode("more sequences than the pass", [](Rig& r) { r.in.m.num_seqs = r.in.m.num_rows = 3; }, TDL_E_LIMIT, -1, -1, 3),
      decode("sequences beyond any memory", [](Rig& r) { r.in.m.num_seqs = UINT32_MAX; }, TDL_E_LIMIT, -1, -1, UINT32_MAX),
      decode("more rows than the pass", [](Rig& r) { r.in.m.num_rows = 3; }, TDL_E_LIMIT, -1, -1, 3),
      decode("fewer rows than sequences", [](Rig& r) { r.in.m.num_rows = 1; }, TDL_E_INVALID_ARGUMENT),
      decode("query_start", [](Rig& r) { r.in.m.query_start = r.in.query_start; }, TDL_E_INVALID_ARGUMENT),
      decode("more outputs than the engine", [](Rig& r) { r.in.m.output_row = r.in.output_row, r.in.m.num_outputs = 6; }, TDL_E_LIMIT, -1, -1, 6),
      decode("no positions", [](Rig& r) { r.in.m.positions = nullptr; }, TDL_E_INVALID_ARGUMENT),
      decode("no seq_len", [](Rig& r) { r.in.m.seq_len = nullptr; }, TDL_E_INVALID_ARGUMENT),
      decode("no block_table", [](Rig& r) { r.in.m.block_table = nullptr; }, TDL_E_INVALID_ARGUMENT),
      decode("no tokens at all", [](Rig& r) { r.in.m.token_ids = nullptr; }, TDL_E_INVALID_ARGUMENT),
      decode("tokens missing where token_from gives none",
             [](Rig& r) { r.in.m.token_ids = nullptr, r.in.m.token_from = r.in.token_from, r.in.token_from[0] = 0; }, TDL_E_INVALID_ARGUMENT, 1, 1),
      prefill("more rows than the pass", [](Rig& r) { r.in.m.num_rows = 25; }, TDL_E_LIMIT, -1, -1, 25),
      prefill("several sequences without query_start", [](Rig& r) { r.in.m.query_start = nullptr; }, TDL_E_INVALID_ARGUMENT),
      prefill("query_start begins late", [](Rig& r) { r.in.query_start[0] = 1; }, TDL_E_INVALID_ARGUMENT, -1, 0),
      prefill("a sequence without rows", [](Rig& r) { r.in.query_start[1] = 0; }, TDL_E_INVALID_ARGUMENT, -1, 0),
      prefill("query_start goes back", [](Rig& r) { r.in.query_start[2] = 2; }, TDL_E_INVALID_ARGUMENT, -1, 1),
      prefill("query_start ends early", [](Rig& r) { r.in.query_start[2] = 4; }, TDL_E_INVALID_ARGUMENT, -1, 1),
      prefill("query_start ends late", [](Rig& r) { r.in.query_start[2] = 6; }, TDL_E_INVALID_ARGUMENT, -1, 1),
      prefill("query_start wraps", [](Rig& r) { r.in.query_start[1] = UINT32_MAX; }, TDL_E_INVALID_ARGUMENT, -1, 0),
  });
}

TEST_CASE("refuses uploads with a value out of range, and names row and sequence") {
  check_refused({
      decode("token", [](Rig& r) { r.in.tokens[1] = kVocab; }, TDL_E_RANGE, 1, 1),
      decode("token beyond any", [](Rig& r) { r.in.tokens[0] = UINT32_MAX; }, TDL_E_RANGE, 0, 0),
      decode("token_from below -1", [](Rig& r) { r.in.m.token_from = r.in.token_from, r.in.token_from[1] = -2; }, TDL_E_RANGE, 1, 1),
      decode("token_from past the last submit's outputs", [](Rig& r) { r.in.m.token_from = r.in.token_from, r.in.token_from[1] = 2; }, TDL_E_RANGE, 1, 1),
      decode("position", [](Rig& r) { r.in.positions[1] = 4096; }, TDL_E_RANGE, 1, 1),
      decode("height position", [](Rig& r) { r.in.m.positions_h = r.in.positions_h, r.in.positions_h[0] = 5000; }, TDL_E_RANGE, 0, 0),
      decode("streams that differ", [](Rig& r) { r.in.m.positions_w = r.in.positions_w, r.in.positions_w[1] = 9; }, TDL_E_UNSUPPORTED, 1, 1),
      prefill("streams that differ without MRoPE", [](Rig& r) { r.in.m.positions_h = r.in.positions_h, r.in.positions_h[3] = 9; }, TDL_E_UNSUPPORTED, 3, 1),
      decode("seq_slot of an engine without adapters", [](Rig& r) { r.in.m.seq_slot = r.in.seq_slot, r.in.seq_slot[1] = 0; }, TDL_E_RANGE, 1, 1),
      decode("seq_slot below TDL_ADAPTER_ACTIVE", [](Rig& r) { r.in.m.seq_slot = r.in.seq_slot, r.in.seq_slot[0] = -3; }, TDL_E_RANGE, 0, 0),
      decode("moe_row_adapter", [](Rig& r) { r.in.m.moe_row_adapter = r.in.moe_row_adapter, r.in.moe_row_adapter[1] = 5; }, TDL_E_RANGE, 1, 1),
      prefill("seq_len below the sequence's rows", [](Rig& r) { r.in.seq_len[1] = 1; }, TDL_E_RANGE, -1, 1),
      decode("seq_len above max_context", [](Rig& r) { r.in.seq_len[0] = 65, r.in.m.max_blocks_per_seq = 8; }, TDL_E_RANGE, -1, 0),
      decode("seq_len beyond any", [](Rig& r) { r.in.seq_len[1] = UINT32_MAX; }, TDL_E_RANGE, -1, 1),
      decode("seq_len beyond the table", [](Rig& r) { r.in.m.max_blocks_per_seq = 1; }, TDL_E_RANGE, -1, 0),
      decode("no table at all", [](Rig& r) { r.in.m.max_blocks_per_seq = 0, r.in.m.block_table = nullptr; }, TDL_E_RANGE, -1, 0),
      decode("block past the last", [](Rig& r) { r.in.table[1] = kBadBlocks; }, TDL_E_RANGE, -1, 0),
      decode("negative block", [](Rig& r) { r.in.table[4] = -1; }, TDL_E_RANGE, -1, 1),
      decode("slot past the last", [](Rig& r) { r.in.slot[1] = 16 * kBadBlocks; }, TDL_E_RANGE, 1, 1),
      decode("slot beyond any", [](Rig& r) { r.in.slot[0] = INT64_MAX; }, TDL_E_RANGE, 0, 0),
      decode("slot below -1", [](Rig& r) { r.in.slot[0] = -2; }, TDL_E_RANGE, 0, 0),
      decode("output_row past the rows", [](Rig& r) { r.in.m.output_row = r.in.output_row, r.in.m.num_outputs = 2, r.in.output_row[1] = 2; }, TDL_E_RANGE, 2),
      decode("negative output_row", [](Rig& r) { r.in.m.output_row = r.in.output_row, r.in.m.num_outputs = 1, r.in.output_row[0] = -1; }, TDL_E_RANGE, -1),
      prefill("output_row twice", [](Rig& r) { r.in.m.output_row = r.in.output_row, r.in.m.num_outputs = 3, r.in.output_row[1] = 0; }, TDL_E_INVALID_ARGUMENT, 0),
      prefill("output_row not ascending", [](Rig& r) { r.in.m.output_row = r.in.output_row, r.in.m.num_outputs = 3, r.in.output_row[0] = 4; },
              TDL_E_INVALID_ARGUMENT, 1),
  });
}

TEST_CASE("refuses uploads whose KV writes collide") {
  check_refused({
      decode("slot outside the sequence's table", [](Rig& r) { r.in.slot[1] = 8 * 16; }, TDL_E_CONFLICT, 1, 1),
      decode("slot in another sequence's table", [](Rig& r) { r.in.slot[1] = 3 * 16; }, TDL_E_CONFLICT, 1, 1),
      decode("slot in an entry past seq_len", [](Rig& r) { r.in.slot[0] = 2 * 16; }, TDL_E_CONFLICT, 0, 0),
      prefill("slot twice in one sequence", [](Rig& r) { r.in.slot[2] = r.in.slot[0]; }, TDL_E_CONFLICT, 2, 0),
      decode("slot twice, of two sequences that share a block", [](Rig& r) { r.in.table[4] = 5, r.in.slot[1] = r.in.slot[0]; }, TDL_E_CONFLICT, 1, 1),
      decode("the same by the table alone", [](Rig& r) { r.in.m.slot = nullptr, r.in.table[4] = 5, r.in.seq_len[0] = 21, r.in.seq_len[1] = 5; },
             TDL_E_CONFLICT, 1, 1),
      decode("a sequence reads what another one writes", [](Rig& r) { r.in.slot[0] = 7 * 16 + 2, r.in.table[1] = 7; }, TDL_E_CONFLICT, -1, 0),
      decode("a block at two places of one table", [](Rig& r) { r.in.m.slot = nullptr, r.in.table[0] = 5; }, TDL_E_CONFLICT, -1, 0),
      decode("a sequence that sits out writes", [](Rig& r) { r.in.seq_len[1] = 0; }, TDL_E_CONFLICT, 1, 1),
  });
}

TEST_CASE("refuses uploads over free and shared blocks of a pool") {
  const auto share = [](int32_t block) {
    return [block](Rig& r) { r.use(tdl_kv_retain(r.engine.get(), &block, 1, nullptr)), r.serves = false; };
  };
  const auto release = [](int32_t block) {
    return [block](Rig& r) { r.use(tdl_kv_release(r.engine.get(), &block, 1, nullptr)), r.serves = false; };
  };
  check_refused({
      decode("reads a free block", [](Rig& r) { r.in.table[0] = 8; }, TDL_E_CONFLICT, -1, 0),
      decode("writes a free block", [](Rig& r) { r.in.table[1] = 9, r.in.m.slot = nullptr; }, TDL_E_CONFLICT, -1, 0),
      decode("writes a shared block", share(5), TDL_E_CONFLICT, 0, 0),
      decode("writes a released block", release(7), TDL_E_CONFLICT, -1, 1),
      prefill("writes a shared block in its later rows", share(7), TDL_E_CONFLICT, 3, 1),
  }, TDL_KV_POOL);
}

TEST_CASE("refuses sampling that is malformed or not there yet") {
  check_refused({
      sampling("a reserved field", [](Rig& r) { r.in.sampling[1].reserved = 1; }, TDL_E_VERSION),
      sampling("NaN temperature", [](Rig& r) { r.in.sampling[1].temperature = NAN; }, TDL_E_INVALID_ARGUMENT),
      sampling("infinite temperature", [](Rig& r) { r.in.sampling[1].temperature = INFINITY; }, TDL_E_INVALID_ARGUMENT),
      sampling("negative temperature", [](Rig& r) { r.in.sampling[0].temperature = -1; }, TDL_E_INVALID_ARGUMENT),
      sampling("top_p above 1", [](Rig& r) { r.in.sampling[0].top_p = 1.5f; }, TDL_E_INVALID_ARGUMENT),
      sampling("negative top_p", [](Rig& r) { r.in.sampling[0].top_p = -0.5f; }, TDL_E_INVALID_ARGUMENT),
      sampling("NaN min_p", [](Rig& r) { r.in.sampling[0].min_p = NAN; }, TDL_E_INVALID_ARGUMENT),
      sampling("min_p above 1", [](Rig& r) { r.in.sampling[0].min_p = 2; }, TDL_E_INVALID_ARGUMENT),
      sampling("negative repetition penalty", [](Rig& r) { r.in.sampling[0].repetition_penalty = -1; }, TDL_E_INVALID_ARGUMENT),
      sampling("infinite presence penalty", [](Rig& r) { r.in.sampling[0].presence_penalty = -INFINITY; }, TDL_E_INVALID_ARGUMENT),
      sampling("NaN frequency penalty", [](Rig& r) { r.in.sampling[0].frequency_penalty = NAN; }, TDL_E_INVALID_ARGUMENT),
      sampling("not greedy", [](Rig& r) { r.in.sampling[1].temperature = 0.7f; }, TDL_E_UNSUPPORTED),
      sampling("repetition penalty", [](Rig& r) { r.in.sampling[0].repetition_penalty = 1.1f; }, TDL_E_UNSUPPORTED),
      sampling("presence penalty", [](Rig& r) { r.in.sampling[0].presence_penalty = 0.1f; }, TDL_E_UNSUPPORTED),
      sampling("frequency penalty", [](Rig& r) { r.in.sampling[0].frequency_penalty = -0.1f; }, TDL_E_UNSUPPORTED),
      sampling("size of 0", [](Rig& r) { r.in.sampling[0].struct_size = 0; }, TDL_E_INVALID_ARGUMENT),
      sampling("sizes that differ", [](Rig& r) { r.in.sampling[1].struct_size = 4; }, TDL_E_INVALID_ARGUMENT),
      decode("penalty_start", [](Rig& r) { r.in.m.penalty_start = r.in.tokens; }, TDL_E_UNSUPPORTED),
      decode("penalty_token", [](Rig& r) { r.in.m.penalty_token = r.in.tokens; }, TDL_E_UNSUPPORTED),
      decode("penalty_count", [](Rig& r) { r.in.m.penalty_count = r.in.tokens; }, TDL_E_UNSUPPORTED),
      decode("mask", [](Rig& r) { r.in.m.mask = r.in.tokens; }, TDL_E_UNSUPPORTED),
      decode("mask_row", [](Rig& r) { r.in.m.mask_row = r.in.output_row; }, TDL_E_UNSUPPORTED),
      decode("num_masks", [](Rig& r) { r.in.m.num_masks = 1; }, TDL_E_UNSUPPORTED),
      decode("num_logprobs", [](Rig& r) { r.in.m.num_logprobs = 5; }, TDL_E_UNSUPPORTED),
      prefill("embeds", [](Rig& r) { r.in.m.embeds = r.in.tokens; }, TDL_E_UNSUPPORTED),
      prefill("embed_row", [](Rig& r) { r.in.m.embed_row = r.in.output_row; }, TDL_E_UNSUPPORTED),
      prefill("num_embeds", [](Rig& r) { r.in.m.num_embeds = 1; }, TDL_E_UNSUPPORTED),
      prefill("embeds_dtype", [](Rig& r) { r.in.m.embeds_dtype = TDL_BF16; }, TDL_E_UNSUPPORTED),
      prefill("deepstack", [](Rig& r) { r.in.m.deepstack = r.in.tokens; }, TDL_E_UNSUPPORTED),
      prefill("num_deepstack", [](Rig& r) { r.in.m.num_deepstack = 1; }, TDL_E_UNSUPPORTED),
  });
}

TEST_CASE("accepts what lies on the edge of a refusal") {
  const std::vector<std::pair<std::string, Change>> good = {
      {"the last token", [](Rig& r) { r.in.tokens[0] = kVocab - 1; }},
      {"the last position", [](Rig& r) { r.in.positions[0] = 4095; }},
      {"positions that do not follow the KV index", [](Rig& r) { r.in.positions[0] = 0, r.in.positions[1] = 900; }},
      {"three equal streams", [](Rig& r) { r.in.m.positions_h = r.in.positions_h, r.in.m.positions_w = r.in.positions_w; }},
      {"the longest context", [](Rig& r) { r.in.m.slot = nullptr, r.in.seq_len[0] = 64; }},
      {"garbage past the blocks in use", [](Rig& r) { r.in.table[2] = -77, r.in.table[3] = INT_MAX; }},
      {"no write at all", [](Rig& r) { r.in.slot[0] = r.in.slot[1] = -1; }},
      {"a write elsewhere in its own table", [](Rig& r) { r.in.slot[0] = 3 * 16 + 1; }},
      {"base adapters", [](Rig& r) { r.in.m.seq_slot = r.in.seq_slot, r.in.m.moe_row_adapter = r.in.moe_row_adapter; }},
      {"the active adapter where none is", [](Rig& r) { r.in.m.seq_slot = r.in.seq_slot, r.in.seq_slot[0] = TDL_ADAPTER_ACTIVE; }},
      {"no outputs, and no sampling for them", [](Rig& r) { r.in.m.output_row = r.in.output_row, r.in.m.sampling = reinterpret_cast<const tdl_sampling*>(uintptr_t{64}); }},
      {"greedy sampling with a seed and top_k", [](Rig& r) { r.in.m.sampling = r.in.sampling, r.in.sampling[0].seed = 9, r.in.sampling[1].top_k = 40; }},
      {"a repetition penalty of 1", [](Rig& r) { r.in.m.sampling = r.in.sampling, r.in.sampling[0].repetition_penalty = 1; }},
      {"a sequence that sits out, with a wild token, position and table",
       [](Rig& r) { r.in.seq_len[1] = 0, r.in.slot[1] = -1, r.in.tokens[1] = r.in.positions[1] = UINT32_MAX, r.in.table[4] = -5; }},
      {"nobody takes part", [](Rig& r) { r.in.seq_len[0] = r.in.seq_len[1] = 0, r.in.m.slot = nullptr; }},
  };
  for (const auto& edge : good) {
    CAPTURE(edge.first);
    Rig rig(TDL_KV_CALLER);
    edge.second(rig);
    Error error;
    CHECK_MESSAGE(upload(rig, &error) == TDL_OK, error.message);
    rig.out.result.num_outputs = 0;
    CHECK_MESSAGE(tdl_step(rig.pass, &rig.out.result, &error) == TDL_OK, error.message);
    rig.check_works();
  }
}
