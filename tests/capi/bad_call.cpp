#include "tests/capi/bad_call.h"

#include <doctest/doctest.h>

#include <cstring>

#include "capi/src/handles.h"

namespace tdl::test {
namespace {

constexpr uint32_t kBlock = 16, kTable = 4;
constexpr uint32_t kLength[2] = {20, 4};
constexpr int32_t kTables[2][kTable] = {{3, 5, 1, 2}, {7, 0, 4, 6}};

// Rows of sequence s from `first` KV index on.
void add_rows(Arrays& in, uint32_t s, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = in.m.num_rows++, index = first + i;
    in.tokens[row] = (31 * s + 7 * index + 5) % kVocab;
    in.token_from[row] = -1;
    in.positions[row] = in.positions_h[row] = in.positions_w[row] = index;
    in.slot[row] = int64_t{kTables[s][index / kBlock]} * kBlock + index % kBlock;
    in.seq_slot[row] = in.moe_row_adapter[row] = -1;
    in.output_row[row] = static_cast<int32_t>(row);
  }
  in.seq_len[s] = first + count;
  std::memcpy(in.table + s * kTable, kTables[s], sizeof kTables[s]);
  in.m.num_seqs = s + 1;
  in.query_start[s + 1] = in.m.num_rows;
}

void begin(Arrays& in) {
  std::memset(&in, 0, sizeof in);
  tdl_metadata& m = in.m;
  tdl_metadata_init(&m, sizeof m);
  for (tdl_sampling& sampling : in.sampling) tdl_sampling_init(&sampling, sizeof sampling);
  m.max_blocks_per_seq = kTable;
  m.token_ids = in.tokens;
  m.positions = in.positions;
  m.slot = in.slot;
  m.seq_len = in.seq_len;
  m.block_table = in.table;
}

void fill_out(Out& out) {
  std::memset(static_cast<void*>(&out), 0xA5, sizeof out);
  out.mapped.struct_size = sizeof out.mapped;
  out.view.struct_size = sizeof out.view;
  out.plan.struct_size = sizeof out.plan;
  out.info.struct_size = sizeof out.info;
  out.stats.struct_size = sizeof out.stats;
  tdl_step_result& r = out.result;
  r.struct_size = sizeof r;
  r.capacity = 32;
  r.row_status = out.row_status;
  r.tokens = out.tokens;
  r.logits = out.logits;
  r.hidden = out.hidden;
  r.token_logprobs = r.top_logprobs = nullptr;
  r.top_tokens = nullptr;
}

void check_error(const BadCall& bad, const Error& error) {
  CHECK(error.status == bad.status);
  CHECK(error.row == bad.row);
  CHECK(error.seq == bad.seq);
  CHECK(error.required == bad.required);
  CHECK(std::memchr(error.message, 0, sizeof error.message) != nullptr);
  CHECK(error.message[0] != '\0');
  CHECK(std::strstr(error.message, "0x7") == nullptr);  // no addresses
}

}  // namespace

Rig::Rig(int32_t kv_mode) {
  engine = make_engine(golden_path("qwen3") + "/model", [=](tdl_engine_config& config) {
    config.max_seqs = 3;
    config.max_rows_per_seq = 2;
    config.max_prefill_rows = 24;
    config.max_outputs = 5;
    config.max_context = 64;
    config.block_size = kBlock;
    config.num_blocks = kBadBlocks;
    config.kv_mode = kv_mode;
  });
  if (kv_mode == TDL_KV_POOL) {
    int32_t all[8];
    use(tdl_kv_alloc(engine.get(), all, 8, nullptr));
    for (int32_t i = 0; i < 8; ++i) REQUIRE(all[i] == i);  // 8 to 11 stay free
  }
  prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 2);
  decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2);
  pair = begin_pass(engine.get(), TDL_PASS_DECODE, 2, 2);
  silent = begin_pass(engine.get(), TDL_PASS_DECODE, 2, 1, false);
  begin(in);
  for (uint32_t s = 0; s < 2; ++s) add_rows(in, s, 0, kLength[s]);
  in.m.query_start = in.query_start;
  pass = prefill.get();
  upload();
  submit();
  wait();
  use_decode();
  fill_out(out);
}

void Rig::use(tdl_status status) { REQUIRE(status == TDL_OK); }

void Rig::use_decode() {
  begin(in);
  for (uint32_t s = 0; s < 2; ++s) add_rows(in, s, kLength[s], 1);
  pass = decode.get();
}

void Rig::use_prefill() {
  begin(in);
  add_rows(in, 0, kLength[0], 3);
  add_rows(in, 1, kLength[1], 2);
  in.m.query_start = in.query_start;
  pass = prefill.get();
}

void Rig::use_pair() {
  begin(in);
  for (uint32_t s = 0; s < 2; ++s) add_rows(in, s, kLength[s], 2);
  pass = pair.get();
}

uint64_t Rig::digest() {
  if (!engine) return 0;
  const auto shared = engine->shell->share();
  REQUIRE(shared.ok());
  const uint64_t digest = shared.value()->digest();
  REQUIRE(digest != 0);
  return digest;
}

void Rig::check_works() {
  if (!engine || !serves) return;
  use_decode();
  fill_out(out);
  Error error;
  CHECK_MESSAGE(tdl_upload_metadata(pass, &in.m, &error) == TDL_OK, error.message);
  CHECK_MESSAGE(tdl_step(pass, &out.result, &error) == TDL_OK, error.message);
  CHECK(out.result.num_outputs == 2);
  for (uint32_t o = 0; o < 2; ++o) {
    CHECK(out.row_status[o] == TDL_OK);
    CHECK(out.tokens[o] < kVocab);
  }
}

void check_refused(const std::vector<BadCall>& calls, int32_t kv_mode) {
  for (const BadCall& bad : calls) {
    CAPTURE(bad.name);
    Rig rig(kv_mode);
    if (bad.change) bad.change(rig);
    const uint64_t before = rig.digest();
    const auto expected = std::make_unique<Out>(rig.out);
    Error error;
    const tdl_status status = bad.call(rig, &error);
    CHECK_MESSAGE(status == bad.status, name_of(status), " instead of ", name_of(bad.status), ": ", error.message);
    if (status == bad.status) check_error(bad, error);
    CHECK(bad.call(rig, nullptr) == bad.status);
    CHECK(rig.digest() == before);
    CHECK(std::memcmp(static_cast<const void*>(&rig.out), expected.get(), sizeof rig.out) == 0);
    rig.check_works();
  }
}

}  // namespace tdl::test
