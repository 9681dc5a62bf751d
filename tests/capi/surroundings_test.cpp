// What a host does around the library must not reach its results: rounding modes, forks.
#include <doctest/doctest.h>

#include <cfenv>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

// A whole small life with the caller's floating point rounding as given: the logits of a prefill and a decode.
std::vector<float> logits_under(int create_mode, int pass_mode, int32_t graph_mode) {
  std::fesetround(create_mode);
  EngineHandle engine = make_engine(golden_path("qwen3") + "/model", [=](tdl_engine_config& config) {
    config.max_seqs = 2;
    config.max_outputs = 16;
    config.max_context = 64;
    config.graph_mode = graph_mode;
  });
  std::fesetround(pass_mode);
  PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1), decode = begin_pass(engine.get(), TDL_PASS_DECODE, 1);
  Sequence sequence{{0}, 0};
  Results first = run(engine.get(), prefill.get(), {{&sequence, {5, 60, 7, 150, 9, 11, 13}, {}}}, true);
  const Results second = run(engine.get(), decode.get(), {{&sequence, {42}, {}}}, false);
  CHECK(std::fegetround() == pass_mode);
  std::fesetround(FE_TONEAREST);
  first.logits.insert(first.logits.end(), second.logits.begin(), second.logits.end());
  return first.logits;
}

}  // namespace

TEST_CASE("a host's rounding mode changes no bit, and stays as it was") {
  const std::vector<float> expected = logits_under(FE_TONEAREST, FE_TONEAREST, TDL_GRAPHS_AT_CREATE);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const int32_t graphs : {TDL_GRAPHS_AT_CREATE, TDL_GRAPHS_OFF}) {
      CAPTURE(mode);
      CAPTURE(graphs);
      const std::vector<float> at_create = logits_under(mode, FE_TONEAREST, graphs), in_passes = logits_under(FE_TONEAREST, mode, graphs);
      CHECK(std::memcmp(at_create.data(), expected.data(), expected.size() * sizeof(float)) == 0);
      CHECK(std::memcmp(in_passes.data(), expected.data(), expected.size() * sizeof(float)) == 0);
    }
  }
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not follow a fork beside threads
TEST_CASE("in a forked child every call on the parent's handles is a state error, destroying returns, and the parent goes on") {
  const std::string directory = golden_path("llama-v4") + "/model";
  EngineHandle engine = make_engine(directory, [](tdl_engine_config& config) { config.max_seqs = 2, config.max_context = 64; });
  PassHandle pass = begin_pass(engine.get(), TDL_PASS_DECODE, 1);
  Sequence sequence{{0}, 0};
  run(engine.get(), pass.get(), {{&sequence, {5}, {}}}, false);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);  // a hang ends the child by a signal
    int wrong = 0;
    tdl_step_result result;
    tdl_step_result_init(&result, sizeof result);
    tdl_engine_stats stats;
    tdl_engine_stats_init(&stats, sizeof stats);
    tdl_pass* other = nullptr;
    tdl_pass_desc desc;
    tdl_pass_desc_init(&desc, sizeof desc);
    wrong += tdl_step(pass.get(), &result, nullptr) != TDL_E_STATE;
    wrong += tdl_wait(engine.get(), 1, 0, &result, nullptr) != TDL_E_STATE;
    wrong += tdl_engine_get_stats(engine.get(), &stats, nullptr) != TDL_E_STATE;
    wrong += tdl_pass_begin(engine.get(), &desc, &other, nullptr) != TDL_E_STATE;
    tdl_engine_cancel(engine.get());
    tdl_pass_end(pass.release());
    tdl_engine_destroy(engine.release());
    tdl_engine_config config;
    tdl_engine_config_init(&config, sizeof config);
    config.model_path = directory.data();
    config.model_path_length = directory.size();
    config.max_context = 64;
    tdl_engine* own = nullptr;
    wrong += tdl_engine_create(&config, &own, nullptr) != TDL_OK;
    tdl_engine_destroy(own);
    _exit(wrong);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const Results after = run(engine.get(), pass.get(), {{&sequence, {6}, {}}}, false);
  CHECK(after.row_status[0] == TDL_OK);
}
#endif
