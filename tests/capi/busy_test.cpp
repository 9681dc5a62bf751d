// How far ahead of the device a host may go.
#include <doctest/doctest.h>

#include "tests/capi/long_pass.h"

namespace {

using namespace tdl::test;

struct Rig {
  EngineHandle engine = make_long_engine();
  PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1), decode = begin_pass(engine.get(), TDL_PASS_DECODE, 1);
  Sequence a = long_sequence(0), b = long_sequence(1);
  uint64_t ticket = 0;

  tdl_status upload(tdl_pass* pass, Sequence& sequence, std::vector<uint32_t> tokens, bool rows, tdl_error* error = nullptr) {
    const Batch batch({{&sequence, std::move(tokens), {}}}, rows, 64);
    const tdl_metadata metadata = batch.metadata();
    return tdl_upload_metadata(pass, &metadata, error);
  }
  tdl_status decode_upload(tdl_error* error = nullptr) { return upload(decode.get(), b, {5}, false, error); }
  void submit(tdl_pass* pass) { REQUIRE(tdl_submit(pass, &ticket, nullptr) == TDL_OK); }
  void submit_long() {
    REQUIRE(upload(prefill.get(), a, some_tokens(kLongRows / 4), true) == TDL_OK);
    submit(prefill.get());
  }
  tdl_status wait(uint64_t which, tdl_step_result* result = nullptr) { return tdl_wait(engine.get(), which, UINT64_MAX, result, nullptr); }
};

}  // namespace

TEST_CASE("two submits may be unfinished, a third upload or map is BUSY until the older one is done") {
  Rig rig;
  rig.submit_long();
  const uint64_t first = rig.ticket;
  REQUIRE(rig.decode_upload() == TDL_OK);
  rig.submit(rig.decode.get());
  tdl_metadata mapped;
  tdl_metadata_init(&mapped, sizeof mapped);
  Error error;
  CHECK(rig.decode_upload(&error) == TDL_E_BUSY);
  CHECK(tdl_pass_map(rig.decode.get(), &mapped, nullptr) == TDL_E_BUSY);
  CHECK(tdl_submit(rig.decode.get(), &rig.ticket, nullptr) == TDL_E_STATE);
  CHECK(std::string(error.message).find("ticket " + std::to_string(first)) != std::string::npos);  // which to wait for
  REQUIRE(rig.wait(first) == TDL_OK);
  CHECK(rig.decode_upload() == TDL_OK);
  CHECK(tdl_pass_map(rig.decode.get(), &mapped, nullptr) == TDL_OK);
  rig.submit(rig.decode.get());
  CHECK(rig.wait(rig.ticket) == TDL_OK);
}

TEST_CASE("two uploads may stand behind one unfinished submit, the last of them counts") {
  Rig rig;
  REQUIRE(rig.upload(rig.decode.get(), rig.b, {9}, false) == TDL_OK);
  Results expected(rig.engine.get(), 1), results(rig.engine.get(), 1);
  REQUIRE(tdl_step(rig.decode.get(), &expected.result, nullptr) == TDL_OK);
  rig.submit_long();
  REQUIRE(rig.decode_upload() == TDL_OK);
  REQUIRE(rig.upload(rig.decode.get(), rig.b, {9}, false) == TDL_OK);
  CHECK(rig.decode_upload() == TDL_E_BUSY);
  rig.submit(rig.decode.get());  // the refused one changed nothing
  REQUIRE(rig.wait(rig.ticket, &results.result) == TDL_OK);
  CHECK(results.logits == expected.logits);
  CHECK(rig.decode_upload() == TDL_OK);
}

TEST_CASE("an upload never is BUSY for want of a staging that is about to be free") {
  Rig rig;
  for (int round = 0; round < 300; ++round) {
    REQUIRE(rig.decode_upload() == TDL_OK);
    REQUIRE(rig.decode_upload() == TDL_OK);
    REQUIRE(rig.decode_upload() == TDL_OK);
    rig.submit(rig.decode.get());
    REQUIRE(rig.decode_upload() == TDL_OK);
    REQUIRE(rig.wait(rig.ticket) == TDL_OK);
  }
}

TEST_CASE("a wait tells a pass in progress from one that is done, to the timeout") {
  Rig rig;
  rig.submit_long();
  Results results(rig.engine.get(), 1);
  results.result.num_outputs = 77;
  CHECK(tdl_wait(rig.engine.get(), rig.ticket, 0, &results.result, nullptr) == TDL_PENDING);
  CHECK(tdl_wait(rig.engine.get(), rig.ticket, 1'000'000, &results.result, nullptr) == TDL_PENDING);
  CHECK(results.result.num_outputs == 77);
  CHECK(rig.wait(rig.ticket, &results.result) == TDL_OK);
  CHECK(results.result.num_outputs == 1);
  CHECK(results.result.device_time_ns > 1'000'000);
  CHECK(results.result.bucket == 0);
  CHECK(results.result.replayed == 0);
  CHECK(tdl_wait(rig.engine.get(), rig.ticket, 0, &results.result, nullptr) == TDL_OK);  // as often as wanted
}
