// Threads: one at a time inside an engine, some calls from any, and handles that go while a call is in progress.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "capi/src/handles.h"
#include "tests/capi/long_pass.h"

namespace {

using namespace tdl::test;

struct Rig {
  EngineHandle engine = make_long_engine();
  PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 2), decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2);
  Sequence a = long_sequence(0), b = long_sequence(1);

  void upload_rows(uint32_t rows) { upload(engine.get(), prefill.get(), {{&a, some_tokens(rows), {}}}, true); }
  Results serve() {
    b.length = 0;
    return run(engine.get(), prefill.get(), {{&b, some_tokens(10, 1), {}}}, true, false);
  }
};

}  // namespace

TEST_CASE("a second thread is BUSY while a step runs, but for what any thread may do") {
  Rig rig;
  tdl_engine* engine = rig.engine.get();
  rig.serve();
  const uint64_t done = 1;
  rig.upload_rows(kLongRows);
  tdl_status stepped = TDL_E_INTERNAL;
  std::thread inside([&] { stepped = step_anyhow(rig.prefill.get()); });
  await_inside(engine);
  tdl_pass* pass = nullptr;
  uint64_t ticket = 77;
  tdl_metadata metadata;
  tdl_metadata_init(&metadata, sizeof metadata);
  tdl_pass_desc desc;
  tdl_pass_desc_init(&desc, sizeof desc);
  tdl_metadata_view view;
  tdl_metadata_view_init(&view, sizeof view);
  int32_t block = 0;
  // The step takes far longer than these.
  CHECK(tdl_pass_begin(engine, &desc, &pass, nullptr) == TDL_E_BUSY);
  CHECK(tdl_upload_metadata(rig.decode.get(), &metadata, nullptr) == TDL_E_BUSY);
  CHECK(tdl_pass_map(rig.decode.get(), &metadata, nullptr) == TDL_E_BUSY);
  CHECK(tdl_submit(rig.decode.get(), &ticket, nullptr) == TDL_E_BUSY);
  CHECK(tdl_step(rig.prefill.get(), nullptr, nullptr) == TDL_E_BUSY);
  CHECK(tdl_sample(rig.decode.get(), nullptr, nullptr, nullptr) == TDL_E_BUSY);
  CHECK(tdl_pass_get_view(rig.prefill.get(), &view, nullptr) == TDL_E_BUSY);
  CHECK(tdl_kv_alloc(engine, &block, 1, nullptr) == TDL_E_BUSY);
  CHECK(tdl_kv_retain(engine, &block, 1, nullptr) == TDL_E_BUSY);
  CHECK(tdl_kv_release(engine, &block, 1, nullptr) == TDL_E_BUSY);
  CHECK(tdl_kv_copy(engine, &block, &block, 1, nullptr) == TDL_E_BUSY);
  CHECK(info_of(engine).num_layers == 8);
  CHECK(stats_of(engine).graphs > 0);
  CHECK(tdl_wait(engine, done, 0, nullptr, nullptr) == TDL_OK);
  CHECK(tdl_wait(engine, 99, 0, nullptr, nullptr) == TDL_E_INVALID_ARGUMENT);
  tdl_engine_cancel(engine);
  inside.join();
  CHECK((stepped == TDL_E_CANCELLED || stepped == TDL_OK));
  CHECK(pass == nullptr);
  CHECK(ticket == 77);
  CHECK(tdl_pass_begin(engine, &desc, &pass, nullptr) == TDL_OK);
  tdl_pass_end(pass);
  rig.serve();
}

TEST_CASE("a pass may be ended while another thread steps it") {
  Rig rig;
  rig.upload_rows(kLongRows / 8);
  tdl_pass* pass = rig.prefill.release();
  Results results(rig.engine.get(), 1);
  tdl_status stepped = TDL_E_INTERNAL;
  std::thread inside([&] { stepped = step_anyhow(pass, &results.result); });
  await_inside(rig.engine.get());
  tdl_pass_end(pass);
  inside.join();
  CHECK(stepped == TDL_OK);
  CHECK(results.result.num_outputs == 1);
  rig.prefill = begin_pass(rig.engine.get(), TDL_PASS_PREFILL, 2);
  rig.serve();
}

TEST_CASE("an engine may be destroyed while another thread steps it") {
  Rig rig;
  rig.upload_rows(kLongRows);
  tdl_status stepped = TDL_E_INTERNAL;
  std::thread inside([&] { stepped = step_anyhow(rig.prefill.get()); });
  await_inside(rig.engine.get());
  rig.engine.reset();
  uint64_t ticket = 0;
  CHECK(tdl_submit(rig.prefill.get(), &ticket, nullptr) == TDL_E_STATE);
  rig.decode.reset();  // while the engine is still in use
  inside.join();
  CHECK((stepped == TDL_E_CANCELLED || stepped == TDL_OK));
  CHECK(tdl_submit(rig.prefill.get(), &ticket, nullptr) == TDL_E_STATE);
}

TEST_CASE("an engine may be destroyed while other threads wait") {
  Rig rig;
  rig.upload_rows(kLongRows);
  uint64_t ticket = 0;
  REQUIRE(tdl_submit(rig.prefill.get(), &ticket, nullptr) == TDL_OK);
  tdl_engine* engine = rig.engine.release();
  std::shared_ptr<tdl::Engine> shared = engine->shell->share().value();
  const long users = shared.use_count();
  tdl_status waited[2] = {TDL_OK, TDL_OK};
  std::vector<std::thread> waiters;
  for (tdl_status& status : waited) waiters.emplace_back([&status, engine, ticket] { status = tdl_wait(engine, ticket, UINT64_MAX, nullptr, nullptr); });
  while (shared.use_count() < users + 2) std::this_thread::yield();
  shared.reset();
  tdl_engine_destroy(engine);
  for (std::thread& waiter : waiters) waiter.join();
  for (const tdl_status status : waited) CHECK(status == TDL_E_CANCELLED);
}

TEST_CASE("passes are ended by one thread while another serves") {
  Rig rig;
  const Results expected = rig.serve();
  std::atomic<tdl_pass*> handed{nullptr};
  std::atomic<bool> stop{false};
  std::thread ender([&] {
    while (!stop.load()) tdl_pass_end(handed.exchange(nullptr));
  });
  for (int i = 0; i < 3000; ++i) {
    tdl_pass* pass = begin_pass(rig.engine.get(), TDL_PASS_DECODE, 1).release();
    upload(rig.engine.get(), pass, {{&rig.a, {3}, {}}}, false);
    tdl_pass_end(handed.exchange(pass));
    upload(rig.engine.get(), rig.decode.get(), {{&rig.a, {3}, {}}}, false);
    if (i % 300 == 0) CHECK(rig.serve().logits == expected.logits);
  }
  stop.store(true);
  ender.join();
  tdl_pass_end(handed.load());
}

TEST_CASE("two engines on two threads do not notice each other") {
  const auto life = [](int which, std::vector<float>* logits) {
    Rig rig;
    for (int i = 0; i < 5; ++i) {
      const Results served = rig.serve();
      logits->insert(logits->end(), served.logits.begin(), served.logits.end());
      const Results next = run(rig.engine.get(), rig.decode.get(), {{&rig.b, {static_cast<uint32_t>(which)}, {}}}, false);
      logits->insert(logits->end(), next.logits.begin(), next.logits.end());
    }
  };
  std::vector<float> alone[2], beside[2];
  for (int which : {0, 1}) life(which, &alone[which]);
  std::thread other([&] { life(1, &beside[1]); });
  life(0, &beside[0]);
  other.join();
  for (int which : {0, 1}) CHECK(alone[which] == beside[which]);
}
