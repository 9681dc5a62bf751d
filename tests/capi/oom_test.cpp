// Memory runs out: every allocation that the library makes through operator new fails once.  A program of its own: capi_oom_test.
#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <thread>

#include "tests/capi/failing_new.h"
#include "tests/capi/long_pass.h"
#include "tests/capi/whole_life.h"
#include "tests/support/host.h"

namespace {

using namespace tdl::test;

constexpr long kEvery = 400;    // all of the first are tried one by one
constexpr long kSamples = 400;  // of the others as many, evenly spread

// Calls made from within a log callback.
struct Reentry {
  tdl_engine* engine = nullptr;
  tdl_pass *pass = nullptr, *made = nullptr;
  bool destroy = false;
  int warnings = 0;
  uint64_t ticket = 77;
  int32_t block = 0;
  tdl_metadata metadata;
  tdl_metadata_view view;
  tdl_engine_info info;
  tdl_engine_stats stats;
  tdl_pass_desc desc;
  tdl_status statuses[16];
  int count = 0;

  Reentry() {
    tdl_metadata_init(&metadata, sizeof metadata);
    tdl_metadata_view_init(&view, sizeof view);
    tdl_engine_info_init(&info, sizeof info);
    tdl_engine_stats_init(&stats, sizeof stats);
    tdl_pass_desc_init(&desc, sizeof desc);
  }
  void add(tdl_status status) { statuses[count++] = status; }
};

void log(void* user, int32_t level, const char*, size_t) {
  auto& r = *static_cast<Reentry*>(user);
  if (level != TDL_LOG_WARNING || r.warnings++ > 0 || !r.engine) return;
  r.add(tdl_engine_get_info(r.engine, &r.info, nullptr));
  r.add(tdl_engine_get_stats(r.engine, &r.stats, nullptr));
  r.add(tdl_pass_begin(r.engine, &r.desc, &r.made, nullptr));
  r.add(tdl_wait(r.engine, 1, 0, nullptr, nullptr));
  r.add(tdl_kv_alloc(r.engine, &r.block, 1, nullptr));
  r.add(tdl_kv_copy(r.engine, nullptr, nullptr, 0, nullptr));
  r.add(tdl_upload_metadata(r.pass, &r.metadata, nullptr));
  r.add(tdl_pass_map(r.pass, &r.metadata, nullptr));
  r.add(tdl_submit(r.pass, &r.ticket, nullptr));
  r.add(tdl_step(r.pass, nullptr, nullptr));
  r.add(tdl_sample(r.pass, nullptr, nullptr, nullptr));
  r.add(tdl_pass_get_view(r.pass, &r.view, nullptr));
  r.add(tdl_adapter_unload(r.engine, 0, nullptr));
  tdl_engine_cancel(r.engine);
  if (r.destroy) tdl_engine_destroy(r.engine);
}

// An engine whose graphs are made on demand, and a pass_begin that cannot capture because the memory of one node is missing.
void begin_without_memory(Reentry& reentry, const std::function<void(tdl_pass*)>& check) {
  for (long nth = 1; reentry.warnings == 0; ++nth) {
    REQUIRE(nth < 1000);
    EngineHandle engine = make_engine(golden_path("qwen3") + "/model", [&](tdl_engine_config& config) {
      config.max_seqs = 1;
      config.max_context = 64;
      config.graph_mode = TDL_GRAPHS_ON_DEMAND;
      config.log = log;
      config.log_user = &reentry;
    });
    PassHandle other = begin_pass(engine.get(), TDL_PASS_PREFILL, 1);
    reentry.engine = engine.get();
    reentry.pass = other.get();
    tdl_pass* pass = nullptr;
    tdl_status status;
    {
      const FailingNew failing(nth);
      status = tdl_pass_begin(engine.get(), &reentry.desc, &pass, nullptr);
    }
    const PassHandle owner(pass);
    if (reentry.warnings == 0) continue;
    CHECK(status == TDL_OK);
    CHECK(reentry.count == 13);
    CHECK(std::all_of(reentry.statuses, reentry.statuses + reentry.count, [](tdl_status s) { return s == TDL_E_STATE; }));
    CHECK(reentry.made == nullptr);
    CHECK(reentry.ticket == 77);
    if (reentry.destroy) static_cast<void>(engine.release());
    check(pass);
  }
}

}  // namespace

TEST_CASE("every failed allocation is TDL_E_OUT_OF_MEMORY or a graph less, and the same call works afterwards") {
  const std::string directory = golden_path("qwen3") + "/model";
  for (const int32_t graph_mode : {TDL_GRAPHS_AT_CREATE, TDL_GRAPHS_ON_DEMAND, TDL_GRAPHS_OFF}) {
    CAPTURE(graph_mode);
    const LifePlan plan{&directory, graph_mode};
    Life good;
    long total = 0;
    {
      const FailingNew counting(LONG_MAX);
      good = live(plan);
      total = counting.seen();
    }
    REQUIRE(good.failures == 0);
    REQUIRE(total > kEvery);
    const long stride = std::max(1L, (total - kEvery) / kSamples);
    uint64_t refused = 0, graphless = 0;
    for (long nth = 1; nth <= total; nth += nth < kEvery ? 1 : stride) {
      bool hit = false;
      Life life;
      {
        const FailingNew failing(nth);
        life = live(plan);
        hit = failing.hit();
      }
      CAPTURE(nth);
      CAPTURE(std::string(life.where));
      CHECK(hit);
      CHECK_MESSAGE(life.stuck == nullptr, std::string(life.stuck ? life.stuck : ""));
      CHECK(life.consistent);
      CHECK(life.bits == good.bits);
      CHECK(life.failures <= 1);
      if (life.failures) CHECK_MESSAGE(life.failure == TDL_E_OUT_OF_MEMORY, std::string(tdl_status_name(life.failure)));
      refused += life.failures;
      graphless += life.graph_failures;
    }
    CHECK(refused > 0);
    CHECK((graphless > 0) == (graph_mode != TDL_GRAPHS_OFF));
  }
}

TEST_CASE("a callback that reaches its own engine finds it closed") {
  Reentry reentry;
  begin_without_memory(reentry, [&](tdl_pass* pass) {
    CHECK(stats_of(reentry.engine).graph_failures == 1);
    Sequence sequence{{0}, 0};  // what could not be captured runs eagerly
    const Results results = run(reentry.engine, pass, {{&sequence, {5}, {}}}, false);
    CHECK(results.result.replayed == 0);
  });
}

TEST_CASE("a callback may destroy its own engine, which goes when the call returns") {
  Reentry reentry;
  reentry.destroy = true;
  begin_without_memory(reentry, [](tdl_pass* pass) {
    uint64_t ticket = 0;
    CHECK(tdl_submit(pass, &ticket, nullptr) == TDL_E_STATE);
  });
}

TEST_CASE("serving needs no memory") {
  EngineHandle engine = make_engine(golden_path("qwen3") + "/model", [](tdl_engine_config& config) {
    config.max_seqs = 2;
    config.max_context = 64;
    config.kv_mode = TDL_KV_POOL;
  });
  PassHandle passes[] = {begin_pass(engine.get(), TDL_PASS_PREFILL, 1), begin_pass(engine.get(), TDL_PASS_DECODE, 1),
                         begin_pass(engine.get(), TDL_PASS_DECODE, 1, 1, false)};
  int32_t blocks[2];
  REQUIRE(tdl_kv_alloc(engine.get(), blocks, 2, nullptr) == TDL_OK);
  Sequence sequence{{blocks[0]}, 0};
  const Batch batch({{&sequence, {5}, {}}}, false, 64);
  const tdl_metadata metadata = batch.metadata();
  Results results(engine.get(), 1);
  Results silent(engine.get(), 1);
  silent.result.tokens = nullptr;
  tdl_metadata mapped;
  tdl_metadata_init(&mapped, sizeof mapped);
  long seen = 0;
  bool good = true;
  {
    const FailingNew counting(LONG_MAX);
    for (int round = 0; round < 3; ++round) {
      for (const PassHandle& pass : passes) {
        tdl_step_result* result = pass == passes[2] ? &silent.result : &results.result;
        uint64_t ticket = 0;
        good = good && tdl_upload_metadata(pass.get(), &metadata, nullptr) == TDL_OK && tdl_submit(pass.get(), &ticket, nullptr) == TDL_OK &&
               tdl_wait(engine.get(), ticket, UINT64_MAX, result, nullptr) == TDL_OK;
        if (pass == passes[2]) good = good && tdl_sample(pass.get(), nullptr, &results.result, nullptr) == TDL_OK;
        good = good && tdl_pass_map(pass.get(), &mapped, nullptr) == TDL_OK && tdl_upload_metadata(pass.get(), &metadata, nullptr) == TDL_OK &&
               tdl_step(pass.get(), result, nullptr) == TDL_OK;
      }
      good = good && tdl_kv_copy(engine.get(), &blocks[0], &blocks[1], 1, nullptr) == TDL_OK && tdl_kv_retain(engine.get(), blocks, 2, nullptr) == TDL_OK &&
             tdl_kv_release(engine.get(), blocks, 2, nullptr) == TDL_OK;
    }
    seen = counting.seen();
  }
  CHECK(good);
  CHECK(seen == 0);
}

TEST_CASE("a pass that is ended while a thread is inside goes without memory") {
  EngineHandle engine = make_long_engine();
  tdl_pass* pass = begin_pass(engine.get(), TDL_PASS_PREFILL, 1).release();
  Sequence sequence = long_sequence(0);
  upload(engine.get(), pass, {{&sequence, some_tokens(kLongRows / 8), {}}}, true);
  tdl_status stepped = TDL_E_INTERNAL;
  std::thread inside([&] { stepped = step_anyhow(pass); });
  await_inside(engine.get());
  {
    const FailingNew failing(1);
    tdl_pass_end(pass);
    inside.join();
    CHECK_FALSE(failing.hit());
  }
  CHECK(stepped == TDL_OK);
}
