// Lives of handles: every order of destroying, what the callbacks may do, and what outlives what.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "tests/capi/long_pass.h"

namespace {

using namespace tdl::test;

EngineHandle small_engine(const std::function<void(tdl_engine_config&)>& adjust = nullptr) {
  return make_engine(golden_path("qwen3") + "/model", [&](tdl_engine_config& config) {
    config.max_seqs = 2;
    config.max_context = 64;
    config.block_size = 16;
    if (adjust) adjust(config);
  });
}

// Destroys a handle here or on a thread of its own.
template <class Handle>
void destroy(Handle& handle, bool elsewhere) {
  if (elsewhere) std::thread([&] { handle.reset(); }).join();
  else handle.reset();
}

tdl_status submit(tdl_pass* pass, uint64_t* ticket) { return tdl_submit(pass, ticket, nullptr); }

}  // namespace

TEST_CASE("destroys an engine and two passes in every order, from any thread, idle, uploaded or in flight") {
  for (const bool elsewhere : {false, true}) {
    for (int state = 0; state < 4; ++state) {
      std::vector<int> order = {0, 1, 2};  // 0: the engine
      do {
        CAPTURE(state);
        EngineHandle engine = small_engine();
        PassHandle passes[2] = {begin_pass(engine.get(), TDL_PASS_PREFILL, 1), begin_pass(engine.get(), TDL_PASS_DECODE, 1)};
        Sequence sequence{{0, 1, 2, 3}, 0};
        uint64_t ticket = 0;
        if (state > 0) upload(engine.get(), passes[0].get(), {{&sequence, some_tokens(9), {}}}, true);
        if (state > 1) REQUIRE(submit(passes[0].get(), &ticket) == TDL_OK);
        sequence.length = 9;
        if (state > 2) {
          upload(engine.get(), passes[1].get(), {{&sequence, {1}, {}}}, false);
          REQUIRE(submit(passes[1].get(), &ticket) == TDL_OK);
        }
        for (const int what : order) {
          if (what == 0) destroy(engine, elsewhere);
          else destroy(passes[what - 1], elsewhere);
          for (const PassHandle& pass : passes) {
            if (!pass) continue;
            tdl_metadata_view view;
            tdl_metadata_view_init(&view, sizeof view);
            uint64_t none = 77;
            if (!engine) {
              CHECK(tdl_pass_get_view(pass.get(), &view, nullptr) == TDL_E_STATE);
              CHECK(submit(pass.get(), &none) == TDL_E_STATE);
              CHECK(none == 77);
            } else {
              if (ticket) REQUIRE(tdl_wait(engine.get(), ticket, UINT64_MAX, nullptr, nullptr) == TDL_OK);
              Sequence other{{3, 2, 1, 0}, 0};
              run(engine.get(), pass.get(), {{&other, {5}, {}}}, pass == passes[0]);
            }
          }
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST_CASE("a ticket outlives its pass, and an upload does not") {
  EngineHandle engine = small_engine();
  PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1);
  Sequence sequence{{0, 1, 2, 3}, 0}, same{{3, 2, 1, 0}, 0};
  const Results expected = run(engine.get(), prefill.get(), {{&same, some_tokens(20), {}}}, true, false);
  upload(engine.get(), prefill.get(), {{&sequence, some_tokens(20), {}}}, true);
  uint64_t ticket = 0;
  REQUIRE(submit(prefill.get(), &ticket) == TDL_OK);
  prefill.reset();
  Results results(engine.get(), 1);
  REQUIRE(tdl_wait(engine.get(), ticket, UINT64_MAX, &results.result, nullptr) == TDL_OK);
  CHECK(results.tokens == expected.tokens);
  CHECK(results.logits == expected.logits);

  prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1);
  upload(engine.get(), prefill.get(), {{&sequence, some_tokens(3), {}}}, true);
  prefill.reset();
  prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1);  // perhaps at the same address
  CHECK(submit(prefill.get(), &ticket) == TDL_E_STATE);
  PassHandle silent = begin_pass(engine.get(), TDL_PASS_PREFILL, 1, 1, false);
  upload(engine.get(), silent.get(), {{&sequence, some_tokens(3), {}}}, true);
  REQUIRE(submit(silent.get(), &ticket) == TDL_OK);
  silent.reset();
  silent = begin_pass(engine.get(), TDL_PASS_PREFILL, 1, 1, false);
  CHECK(tdl_sample(silent.get(), nullptr, nullptr, nullptr) == TDL_E_STATE);
}

TEST_CASE("destroying an engine does not wait for what it can cancel") {
  EngineHandle engine = make_long_engine();
  PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1);
  Sequence sequence = long_sequence(0);
  upload(engine.get(), prefill.get(), {{&sequence, some_tokens(kLongRows), {}}}, true);
  uint64_t ticket = 0;
  REQUIRE(submit(prefill.get(), &ticket) == TDL_OK);
  engine.reset();  // and the sanitizers look at what runs on
  CHECK(submit(prefill.get(), &ticket) == TDL_E_STATE);
}

TEST_CASE("a source and a configuration may go once the engine is there") {
  auto directory = std::make_unique<std::string>(golden_path("qwen3") + "/model");
  auto buckets = std::make_unique<std::vector<uint32_t>>(std::vector<uint32_t>{1, 2});
  tdl_source* source = nullptr;
  REQUIRE(tdl_source_create(&source, nullptr) == TDL_OK);
  REQUIRE(tdl_source_add_directory(source, directory->data(), directory->size(), nullptr) == TDL_OK);
  directory.reset();
  auto device = std::make_unique<std::string>("cpu");
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  config.model_source = source;
  config.device = device->data();
  config.device_length = 3;
  config.max_seqs = 2;
  config.max_context = 64;
  config.decode_buckets = buckets->data();
  config.num_decode_buckets = 2;
  config.num_threads = 1;
  tdl_engine* raw = nullptr;
  REQUIRE(tdl_engine_create(&config, &raw, nullptr) == TDL_OK);
  const EngineHandle engine(raw);
  std::memset(static_cast<void*>(&config), 0xA5, sizeof config);
  tdl_source_destroy(source);
  device.reset();
  buckets.reset();
  PassHandle decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2);
  Sequence sequence{{0}, 0};
  run(engine.get(), decode.get(), {{&sequence, {5}, {}}}, false);
  CHECK(info_of(engine.get()).num_buckets == 2);
}

namespace {

struct Progress {
  int calls = 0, stop_at = -1;
  float last = 0;
  bool sane = true;
  tdl_engine* other = nullptr;
  tdl_pass* pass = nullptr;
  std::vector<std::string> stages;
};

int32_t on_progress(void* user, float fraction, const char* stage, size_t length) {
  auto& p = *static_cast<Progress*>(user);
  const std::string name(stage, length);
  if (p.stages.empty() || p.stages.back() != name) {
    p.stages.push_back(name);
    p.last = 0;
  }
  p.sane = p.sane && fraction >= p.last && fraction <= 1;
  p.last = fraction;
  if (p.other) {  // another engine may be used from within
    tdl_engine_stats stats;
    tdl_engine_stats_init(&stats, sizeof stats);
    p.sane = p.sane && tdl_engine_get_stats(p.other, &stats, nullptr) == TDL_OK;
    Sequence sequence{{0}, 0};
    upload(p.other, p.pass, {{&sequence, {5}, {}}}, false);
    p.sane = p.sane && tdl_step(p.pass, nullptr, nullptr) == TDL_OK;
  }
  return p.calls++ == p.stop_at;
}

}  // namespace

TEST_CASE("progress is told in order, may use another engine, and cancels the load at every call") {
  EngineHandle other = small_engine();
  PassHandle pass = begin_pass(other.get(), TDL_PASS_DECODE, 1);
  Progress whole;
  whole.other = other.get();
  whole.pass = pass.get();
  const auto with = [](Progress& progress) {
    return [&progress](tdl_engine_config& config) { config.progress = on_progress, config.progress_user = &progress; };
  };
  small_engine(with(whole));
  CHECK(whole.sane);
  CHECK(whole.stages == std::vector<std::string>{"weights", "graphs"});
  REQUIRE(whole.calls > 10);
  const std::string directory = golden_path("qwen3") + "/model";
  for (int stop = 0; stop < whole.calls; ++stop) {
    Progress progress;
    progress.stop_at = stop;
    tdl_engine_config config;
    tdl_engine_config_init(&config, sizeof config);
    config.model_path = directory.data();
    config.model_path_length = directory.size();
    config.max_seqs = 2;
    config.max_context = 64;
    with(progress)(config);
    auto* engine = reinterpret_cast<tdl_engine*>(&config);
    Error error;
    CHECK(tdl_engine_create(&config, &engine, &error) == TDL_E_CANCELLED);
    CHECK(error.status == TDL_E_CANCELLED);
    CHECK(engine == reinterpret_cast<tdl_engine*>(&config));
    CHECK(progress.calls == stop + 1);
  }
}

TEST_CASE("the log tells of a new engine in one line") {
  std::vector<std::string> lines;
  const tdl_log_fn log = [](void* user, int32_t level, const char* message, size_t length) {
    CHECK(level == TDL_LOG_INFO);
    static_cast<std::vector<std::string>*>(user)->emplace_back(message, length);
  };
  small_engine([&](tdl_engine_config& config) { config.log = log, config.log_user = &lines; });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("Qwen3ForCausalLM") != std::string::npos);
  CHECK(lines[0].find('\n') == std::string::npos);
}
