// Waiting from any thread: results are those of the ticket, whatever the submitting thread does meanwhile.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/capi/long_pass.h"

using namespace tdl::test;

TEST_CASE("waiters see each ticket's own results, and only once it was given out") {
  EngineHandle engine = make_engine(golden_path("qwen3") + "/model", [](tdl_engine_config& config) {
    config.max_seqs = 1;
    config.max_context = 64;
    config.block_size = 16;
  });
  PassHandle decode = begin_pass(engine.get(), TDL_PASS_DECODE, 1);
  constexpr uint32_t kSteps = 300;
  Sequence sequence{{0, 1, 2, 3}, 0};
  std::vector<Results> expected;  // of the token that each step brings, alone in its sequence
  for (uint32_t token = 0; token < 8; ++token) {
    sequence.length = 0;
    expected.push_back(run(engine.get(), decode.get(), {{&sequence, {token}, {}}}, false));
  }
  const uint64_t first = 9;
  std::atomic<uint32_t> with_tokens{0}, with_logits{0}, wrong{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i) {
    waiters.emplace_back([&, i] {
      for (uint64_t ticket = first; ticket < first + kSteps; ++ticket) {
        Results results(engine.get(), 1);
        if (i == 1) results.result.logits = results.result.hidden = nullptr;
        tdl_status status;
        while ((status = tdl_wait(engine.get(), ticket, i == 0 ? UINT64_MAX : 20'000, &results.result, nullptr)) == TDL_E_INVALID_ARGUMENT || status == TDL_PENDING) {
        }
        if (status == TDL_E_STATE) continue;  // this thread came too late
        const Results& right = expected[ticket % 8];
        const bool good = status == TDL_OK && results.tokens == right.tokens && (i == 1 || results.logits == right.logits);
        wrong += !good;
        ++(i == 0 ? with_logits : with_tokens);
      }
    });
  }
  for (uint64_t ticket = first; ticket < first + kSteps; ++ticket) {
    sequence.length = 0;
    const Work work{&sequence, {static_cast<uint32_t>(ticket % 8)}, {}};
    upload(engine.get(), decode.get(), {work}, false);
    uint64_t given = 0;
    REQUIRE(tdl_submit(decode.get(), &given, nullptr) == TDL_OK);
    REQUIRE(given == ticket);
    upload(engine.get(), decode.get(), {work}, false);  // while the results are being read
    REQUIRE(tdl_wait(engine.get(), ticket, UINT64_MAX, nullptr, nullptr) == TDL_OK);
    if (ticket % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  for (std::thread& waiter : waiters) waiter.join();
  CHECK(wrong == 0);
  CHECK(with_tokens > 0);
  CHECK(with_logits > 0);
}

TEST_CASE("logits are read by one thread while another uploads and copies blocks") {
  const EngineHandle engine = make_long_engine();
  const PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1), decode = begin_pass(engine.get(), TDL_PASS_DECODE, 1);
  Sequence a = long_sequence(0), b = long_sequence(1);
  const auto serve = [&] {
    b.length = 0;
    return run(engine.get(), prefill.get(), {{&b, some_tokens(10, 1), {}}}, true, false);
  };
  const Results expected = serve();
  std::atomic<uint32_t> reads{0}, wrong{0};
  std::thread reader([&] {
    for (; reads < 2000; ++reads) {
      Results results(engine.get(), 1);
      wrong += tdl_wait(engine.get(), 1, UINT64_MAX, &results.result, nullptr) != TDL_OK || results.logits != expected.logits;
    }
  });
  const int32_t from = a.blocks[0], to = a.blocks[1];
  while (reads < 2000) {
    upload(engine.get(), decode.get(), {{&a, {3}, {}}}, false);
    REQUIRE(tdl_kv_copy(engine.get(), &from, &to, 1, nullptr) == TDL_OK);
  }
  reader.join();
  CHECK(wrong == 0);
  CHECK(serve().logits == expected.logits);
}

TEST_CASE("a waiter gets a pass's tokens when another thread samples them") {
  EngineHandle engine = make_engine(golden_path("qwen3") + "/model", [](tdl_engine_config& config) { config.max_seqs = 1, config.max_context = 64; });
  PassHandle decode = begin_pass(engine.get(), TDL_PASS_DECODE, 1), silent = begin_pass(engine.get(), TDL_PASS_DECODE, 1, 1, false);
  Sequence sequence{{0}, 0};
  uint32_t right[8], wrong = 0;
  for (uint32_t token = 0; token < 8; ++token) {
    sequence.length = 0;
    right[token] = run(engine.get(), decode.get(), {{&sequence, {token}, {}}}, false).tokens[0];
  }
  std::atomic<uint64_t> given{8};
  constexpr uint64_t kLast = 8 + 200;
  std::thread waiter([&] {
    while (given.load() < kLast) {
      const uint64_t ticket = given.load();
      Results results(engine.get(), 1, false);
      if (tdl_wait(engine.get(), ticket, UINT64_MAX, &results.result, nullptr) == TDL_OK && ticket > 8) wrong += results.tokens[0] != right[ticket % 8];
      results.result.tokens = nullptr;  // its row status was there before
      wrong += tdl_wait(engine.get(), ticket, UINT64_MAX, &results.result, nullptr) == TDL_OK && results.row_status[0] != TDL_OK;
    }
  });
  for (uint64_t ticket = 9; ticket <= kLast; ++ticket) {
    sequence.length = 0;
    upload(engine.get(), silent.get(), {{&sequence, {static_cast<uint32_t>(ticket % 8)}, {}}}, false);
    uint64_t mine = 0;
    REQUIRE(tdl_submit(silent.get(), &mine, nullptr) == TDL_OK);
    given.store(mine);
    Results results(engine.get(), 1, false);
    REQUIRE(tdl_sample(silent.get(), nullptr, &results.result, nullptr) == TDL_OK);
    CHECK(results.tokens[0] == right[ticket % 8]);
  }
  waiter.join();
  CHECK(wrong == 0);
}
