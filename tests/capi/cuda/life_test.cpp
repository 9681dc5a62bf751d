// An engine in a process that has CUDA work of its own: the caller's stream and context, memory, what is refused.
#include <doctest/doctest.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <thread>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

const std::vector<uint32_t> kPrompt = {3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 97, 93, 23, 84, 62, 64, 33};

EngineHandle gpu_engine(const std::function<void(tdl_engine_config&)>& adjust = nullptr) {
  return make_engine(golden_path("qwen3") + "/model", [&](tdl_engine_config& config) {
    config.device = "cuda";
    config.device_length = 4;
    config.max_seqs = 4;
    config.max_context = 96;
    config.block_size = 16;
    config.max_outputs = 32;
    if (adjust) adjust(config);
  });
}

// Logits of a prefill and three decodes.
std::vector<float> logits_of(tdl_engine* engine) {
  PassHandle prefill = begin_pass(engine, TDL_PASS_PREFILL, 1), decode = begin_pass(engine, TDL_PASS_DECODE, 1);
  Sequence sequence{{2, 0, 1, 5}, 0};
  std::vector<float> logits = run(engine, prefill.get(), {{&sequence, kPrompt, {}}}, true).logits;
  for (const uint32_t token : {38u, 7u, 101u}) {
    const std::vector<float> more = run(engine, decode.get(), {{&sequence, {token}, {}}}, false).logits;
    logits.insert(logits.end(), more.begin(), more.end());
  }
  return logits;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

size_t free_memory() {
  size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return free;
}

}  // namespace

TEST_CASE("the caller's stream gives the bits of the engine's own, and stays the caller's") {
  const EngineHandle own = gpu_engine();
  const std::vector<float> expected = logits_of(own.get());
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  {
    const EngineHandle engine = gpu_engine([&](tdl_engine_config& config) { config.cuda_stream = stream; });
    CHECK(same_bits(logits_of(engine.get()), expected));
    CHECK(stats_of(engine.get()).graph_replays == 3);
  }
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("the same passes twice give the same bits, in one engine and in two") {
  const EngineHandle a = gpu_engine(), b = gpu_engine();
  const std::vector<float> expected = logits_of(a.get());
  CHECK(same_bits(logits_of(a.get()), expected));
  CHECK(same_bits(logits_of(b.get()), expected));
}

TEST_CASE("a thread without a context has none afterwards") {
  const EngineHandle engine = gpu_engine();
  bool clean = false;
  std::thread([&] {
    CUcontext before = nullptr, after = nullptr;
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
    // The runtime's own calls would make a context current: the driver's is asked.
    if (cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &address, 12000, cudaEnableDefault, &found) != cudaSuccess) return;
    const auto current = reinterpret_cast<CUresult (*)(CUcontext*)>(address);
    current(&before);
    PassHandle pass = begin_pass(engine.get(), TDL_PASS_PREFILL, 1);
    Sequence sequence{{2, 0, 1, 5}, 0};
    run(engine.get(), pass.get(), {{&sequence, kPrompt, {}}}, true);
    pass.reset();
    current(&after);
    clean = before == after;
  }).join();
  CHECK(clean);
}

TEST_CASE("serving takes no device memory, and destroying gives all back") {
  gpu_engine();  // what CUDA itself keeps is there afterwards
  const size_t before = free_memory();
  {
    const EngineHandle engine = gpu_engine();
    logits_of(engine.get());
    const size_t serving = free_memory();
    CHECK(serving < before);
    for (int i = 0; i < 20; ++i) logits_of(engine.get());
    CHECK(free_memory() == serving);
  }
  CHECK(free_memory() + (4u << 20) >= before);
}

TEST_CASE("a cache that the GPU cannot hold is refused with the figures") {
  const std::string directory = golden_path("qwen3") + "/model";
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  config.model_path = directory.data();
  config.model_path_length = directory.size();
  config.device = "cuda";
  config.device_length = 4;
  config.num_blocks = 200'000'000;
  tdl_engine* engine = nullptr;
  Error error;
  CHECK(tdl_engine_create(&config, &engine, &error) == TDL_E_OUT_OF_MEMORY);
  CHECK(engine == nullptr);
  CHECK(error.required > 0);
  CHECK(std::string(error.message).find("cuda:0") != std::string::npos);
  CHECK(!logits_of(gpu_engine().get()).empty());
}

TEST_CASE("a GPU that is not there and a KV type that no GPU has are refused by name") {
  const std::string directory = golden_path("qwen3") + "/model";
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  config.model_path = directory.data();
  config.model_path_length = directory.size();
  tdl_engine* engine = nullptr;
  Error error;
  config.device = "cuda:97";
  config.device_length = 7;
  CHECK(tdl_engine_create(&config, &engine, &error) == TDL_E_UNSUPPORTED);
  CHECK(std::string(error.message).find("97") != std::string::npos);
  config.device = "cuda";
  config.device_length = 4;
  config.kv_dtype = TDL_F32;
  CHECK(tdl_engine_create(&config, &engine, &error) == TDL_E_UNSUPPORTED);
  CHECK(std::string(error.message).find("kv_dtype") != std::string::npos);
}

TEST_CASE("a model of f32 weights runs in bf16 and the log says so") {
  std::string log;
  const EngineHandle engine = make_engine(golden_path("llama-hd80-f32") + "/model", [&](tdl_engine_config& config) {
    config.device = "auto";
    config.device_length = 4;
    config.max_context = 64;
    config.log_user = &log;
    config.log = [](void* user, int32_t, const char* text, size_t length) { static_cast<std::string*>(user)->append(text, length).append("\n"); };
  });
  CHECK(log.find("kept in bf16") != std::string::npos);
  CHECK(std::string(info_of(engine.get()).device).rfind("cuda:0", 0) == 0);
  CHECK(info_of(engine.get()).kv_dtype == TDL_BF16);
}
