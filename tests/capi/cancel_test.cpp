// tdl_engine_cancel: what it ends, what it leaves alone, and that the engine serves on.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/capi/long_pass.h"

namespace {

using namespace tdl::test;

struct Rig {
  EngineHandle engine;
  PassHandle prefill, decode;
  Sequence a = long_sequence(0), b = long_sequence(1);

  explicit Rig(int32_t graph_mode = TDL_GRAPHS_AT_CREATE) {
    engine = make_long_engine([=](tdl_engine_config& config) { config.graph_mode = graph_mode; });
    prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 2);
    decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2);
  }
  uint64_t submit_long() {
    upload(engine.get(), prefill.get(), {{&a, some_tokens(kLongRows), {}}}, true);
    return submit(prefill.get());
  }
  uint64_t submit(tdl_pass* pass) {
    uint64_t ticket = 0;
    REQUIRE(tdl_submit(pass, &ticket, nullptr) == TDL_OK);
    return ticket;
  }
  tdl_status wait(uint64_t ticket, tdl_step_result* result = nullptr, tdl_error* error = nullptr) {
    return tdl_wait(engine.get(), ticket, UINT64_MAX, result, error);
  }
  // A short prefill into sequence b, from its first token on: the same bits whatever came before.
  Results serve() {
    b.length = 0;
    return run(engine.get(), prefill.get(), {{&b, some_tokens(10, 1), {}}}, true, false);
  }
};

}  // namespace

TEST_CASE("cancel from another thread ends a long prefill, and nothing else") {
  Rig rig;
  const Results expected = rig.serve();
  const uint64_t ticket = rig.submit_long();
  CHECK(rig.wait(ticket - 1) == TDL_OK);
  CHECK(tdl_wait(rig.engine.get(), ticket, 0, nullptr, nullptr) == TDL_PENDING);
  std::thread([&] { tdl_engine_cancel(rig.engine.get()); }).join();
  Results results(rig.engine.get(), 1);
  results.result.num_outputs = 77;
  Error error;
  CHECK(rig.wait(ticket, &results.result, &error) == TDL_E_CANCELLED);
  CHECK(error.status == TDL_E_CANCELLED);
  CHECK(results.result.num_outputs == 77);
  CHECK(rig.wait(ticket) == TDL_E_CANCELLED);      // and it stays so
  CHECK(rig.wait(ticket - 1) == TDL_OK);           // what was done before is done
  CHECK(rig.serve().logits == expected.logits);
  const Results again = rig.serve();
  CHECK(again.logits == expected.logits);
  CHECK(again.tokens == expected.tokens);
}

TEST_CASE("cancel from another thread ends a step") {
  Rig rig;
  const Results expected = rig.serve();
  upload(rig.engine.get(), rig.prefill.get(), {{&rig.a, some_tokens(kLongRows), {}}}, true);
  std::thread canceller([&] {
    await_inside(rig.engine.get());
    tdl_engine_cancel(rig.engine.get());
  });
  // Inside but not yet submitted, the cancel finds nothing: it is then the pass that runs out.
  const tdl_status status = step_anyhow(rig.prefill.get());
  canceller.join();
  CHECK((status == TDL_E_CANCELLED || status == TDL_OK));
  CHECK(rig.serve().logits == expected.logits);
}

TEST_CASE("cancel covers both unfinished submits and none that comes later") {
  Rig rig;
  const Results expected = rig.serve();
  const uint64_t first = rig.submit_long();
  rig.b.length = 0;
  upload(rig.engine.get(), rig.prefill.get(), {{&rig.b, some_tokens(10, 1), {}}}, true);
  const uint64_t second = rig.submit(rig.prefill.get());
  tdl_engine_cancel(rig.engine.get());
  CHECK(rig.wait(first) == TDL_E_CANCELLED);
  CHECK(rig.wait(second) == TDL_E_CANCELLED);

  const uint64_t third = rig.submit_long();
  tdl_engine_cancel(rig.engine.get());
  rig.b.length = 0;
  upload(rig.engine.get(), rig.prefill.get(), {{&rig.b, some_tokens(10, 1), {}}}, true);
  const uint64_t fourth = rig.submit(rig.prefill.get());
  Results results(rig.engine.get(), 1);
  CHECK(rig.wait(third) == TDL_E_CANCELLED);
  CHECK(rig.wait(fourth, &results.result) == TDL_OK);
  CHECK(results.logits == expected.logits);
}

TEST_CASE("cancel of an idle engine, and between upload and submit, does nothing") {
  Rig rig;
  const Results expected = rig.serve();
  tdl_engine_cancel(rig.engine.get());
  CHECK(rig.serve().logits == expected.logits);
  rig.b.length = 0;
  upload(rig.engine.get(), rig.prefill.get(), {{&rig.b, some_tokens(10, 1), {}}}, true);
  tdl_engine_cancel(rig.engine.get());
  Results results(rig.engine.get(), 1);
  CHECK(tdl_step(rig.prefill.get(), &results.result, nullptr) == TDL_OK);
  CHECK(results.logits == expected.logits);
}

TEST_CASE("a pass that takes tokens of a cancelled one fails with it, and no other does") {
  for (const int32_t graph_mode : {TDL_GRAPHS_AT_CREATE, TDL_GRAPHS_OFF}) {
    Rig rig(graph_mode);
    rig.serve();
    const Results expected = run(rig.engine.get(), rig.decode.get(), {{&rig.b, {9}, {}}}, false);
    const uint64_t cancelled = rig.submit_long();
    tdl_engine_cancel(rig.engine.get());  // before the next submit: only the first ticket is meant
    rig.a.length = kLongRows;
    upload(rig.engine.get(), rig.decode.get(), {{&rig.a, {0}, {0}}}, false);
    const uint64_t dependant = rig.submit(rig.decode.get());
    CHECK(rig.wait(dependant) == TDL_E_CANCELLED);
    CHECK(rig.wait(cancelled) == TDL_E_CANCELLED);
    // And so does one that takes its tokens from the dependant, however late it comes.
    upload(rig.engine.get(), rig.decode.get(), {{&rig.a, {0}, {0}}}, false);
    CHECK(rig.wait(rig.submit(rig.decode.get())) == TDL_E_CANCELLED);
    rig.b.length = 10;
    CHECK(run(rig.engine.get(), rig.decode.get(), {{&rig.b, {9}, {}}}, false).logits == expected.logits);
  }
}

TEST_CASE("sampling what was cancelled says so") {
  Rig rig;
  const PassHandle silent = begin_pass(rig.engine.get(), TDL_PASS_PREFILL, 1, 1, false);
  upload(rig.engine.get(), silent.get(), {{&rig.a, some_tokens(kLongRows), {}}}, true);
  const uint64_t ticket = rig.submit(silent.get());
  tdl_engine_cancel(rig.engine.get());
  CHECK(tdl_sample(silent.get(), nullptr, nullptr, nullptr) == TDL_E_CANCELLED);
  CHECK(rig.wait(ticket) == TDL_E_CANCELLED);
  rig.serve();
}

TEST_CASE("many threads cancel while one serves") {
  Rig rig;
  const Results expected = rig.serve();
  std::atomic<bool> stop{false};
  std::vector<std::thread> cancellers;
  for (int i = 0; i < 2; ++i) {
    cancellers.emplace_back([&] {
      while (!stop.load()) {
        tdl_engine_cancel(rig.engine.get());
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    rig.b.length = 0;
    upload(rig.engine.get(), rig.prefill.get(), {{&rig.b, some_tokens(10, 1), {}}}, true);
    Results results(rig.engine.get(), 1);
    const tdl_status status = tdl_step(rig.prefill.get(), &results.result, nullptr);
    CHECK((status == TDL_OK || status == TDL_E_CANCELLED));
    if (status == TDL_OK) CHECK(results.logits == expected.logits);
  }
  stop.store(true);
  for (std::thread& canceller : cancellers) canceller.join();
  CHECK(rig.serve().logits == expected.logits);
}
