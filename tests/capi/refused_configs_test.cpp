// Refused configurations, field by field, and refused sources.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/capi/bad_call.h"
#include "tests/support/temp_folder.h"

namespace {

using namespace tdl::test;

struct BadConfig {
  std::string field;  // what the message must name
  std::function<void(tdl_engine_config&)> change;
  tdl_status status;
};

const uint32_t kDescending[] = {2, 1, 4}, kTooLarge[] = {1, 8}, kIncomplete[] = {1, 2}, kZero[] = {0, 4}, kTwice[] = {1, 1, 4}, kMany[65] = {1};

const std::vector<BadConfig> kBadConfigs = {
    {"model_path", [](auto& c) { c.model_path = nullptr; }, TDL_E_INVALID_ARGUMENT},
    {"model_path", [](auto& c) { c.model_path = nullptr, c.model_path_length = 0; }, TDL_E_INVALID_ARGUMENT},
    {"model_source", [](auto& c) { c.model_source = reinterpret_cast<const tdl_source*>(&c); }, TDL_E_INVALID_ARGUMENT},  // both
    {"path", [](auto& c) { c.model_path_length = 0; }, TDL_E_INVALID_ARGUMENT},
    {"nowhere", [](auto& c) { c.model_path = "/nowhere/at/all", c.model_path_length = 15; }, TDL_E_NOT_FOUND},
    {"device", [](auto& c) { c.device = nullptr; }, TDL_E_INVALID_ARGUMENT},
    {"cpuu", [](auto& c) { c.device = "cpuu", c.device_length = 4; }, TDL_E_INVALID_ARGUMENT},
    {"cuda", [](auto& c) { c.device = "cuda:99", c.device_length = 7; }, TDL_E_UNSUPPORTED},
    {"max_seqs", [](auto& c) { c.max_seqs = UINT32_MAX; }, TDL_E_INVALID_ARGUMENT},
    {"max_rows_per_seq", [](auto& c) { c.max_rows_per_seq = UINT32_MAX; }, TDL_E_INVALID_ARGUMENT},
    {"max_prefill_rows", [](auto& c) { c.max_prefill_rows = UINT32_MAX; }, TDL_E_INVALID_ARGUMENT},
    {"max_outputs", [](auto& c) { c.max_outputs = 25; }, TDL_E_INVALID_ARGUMENT},
    {"max_context", [](auto& c) { c.max_context = 4097; }, TDL_E_RANGE},
    {"block_size", [](auto& c) { c.block_size = 24; }, TDL_E_INVALID_ARGUMENT},
    {"block_size", [](auto& c) { c.block_size = 256; }, TDL_E_INVALID_ARGUMENT},
    {"num_blocks", [](auto& c) { c.num_blocks = 3; }, TDL_E_OUT_OF_MEMORY},
    {"KV blocks", [](auto& c) { c.num_blocks = UINT32_MAX; }, TDL_E_LIMIT},
    {"kv_memory_bytes", [](auto& c) { c.num_blocks = 8, c.kv_memory_bytes = 1 << 20; }, TDL_E_INVALID_ARGUMENT},
    {"KV blocks", [](auto& c) { c.kv_memory_bytes = 1; }, TDL_E_OUT_OF_MEMORY},
    {"KV blocks", [](auto& c) { c.kv_memory_bytes = UINT64_MAX; }, TDL_E_LIMIT},
    {"kv_dtype", [](auto& c) { c.kv_dtype = 4; }, TDL_E_INVALID_ARGUMENT},
    {"kv_dtype", [](auto& c) { c.kv_dtype = -1; }, TDL_E_INVALID_ARGUMENT},
    {"kv_dtype", [](auto& c) { c.kv_dtype = TDL_F16; }, TDL_E_UNSUPPORTED},
    {"kv_mode", [](auto& c) { c.kv_mode = 2; }, TDL_E_INVALID_ARGUMENT},
    {"kv_mode", [](auto& c) { c.kv_mode = -1; }, TDL_E_INVALID_ARGUMENT},
    {"max_adapters", [](auto& c) { c.max_adapters = 1; }, TDL_E_UNSUPPORTED},
    {"num_threads", [](auto& c) { c.num_threads = UINT32_MAX; }, TDL_E_INVALID_ARGUMENT},
    {"decode_buckets", [](auto& c) { c.num_decode_buckets = 1; }, TDL_E_INVALID_ARGUMENT},
    {"decode_buckets", [](auto& c) { c.decode_buckets = kDescending, c.num_decode_buckets = 3; }, TDL_E_INVALID_ARGUMENT},
    {"decode_buckets", [](auto& c) { c.decode_buckets = kTooLarge, c.num_decode_buckets = 2; }, TDL_E_INVALID_ARGUMENT},
    {"decode_buckets", [](auto& c) { c.decode_buckets = kIncomplete, c.num_decode_buckets = 2; }, TDL_E_INVALID_ARGUMENT},
    {"decode_buckets", [](auto& c) { c.decode_buckets = kZero, c.num_decode_buckets = 2; }, TDL_E_INVALID_ARGUMENT},
    {"decode_buckets", [](auto& c) { c.decode_buckets = kTwice, c.num_decode_buckets = 3; }, TDL_E_INVALID_ARGUMENT},
    {"decode_buckets", [](auto& c) { c.decode_buckets = kMany, c.num_decode_buckets = 65; }, TDL_E_INVALID_ARGUMENT},
    {"graph_mode", [](auto& c) { c.graph_mode = 3; }, TDL_E_INVALID_ARGUMENT},
    {"graph_mode", [](auto& c) { c.graph_mode = -1; }, TDL_E_INVALID_ARGUMENT},
    {"flags", [](auto& c) { c.flags = 1u << 3; }, TDL_E_INVALID_ARGUMENT},
    {"flags", [](auto& c) { c.flags = 1u << 31 | TDL_ENGINE_BATCH_INVARIANT; }, TDL_E_INVALID_ARGUMENT},
    {"TDL_ENGINE_VALIDATE", [](auto& c) { c.flags = TDL_ENGINE_VALIDATE; }, TDL_E_UNSUPPORTED},
    {"cuda_stream", [](auto& c) { c.cuda_stream = &c; }, TDL_E_UNSUPPORTED},
};

tdl_engine_config good_config(const std::string& directory) {
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  config.model_path = directory.data();
  config.model_path_length = directory.size();
  config.device = "cpu";
  config.device_length = 3;
  config.num_threads = 1;
  config.max_seqs = 4;
  config.max_prefill_rows = 24;
  config.max_context = 64;
  config.block_size = 16;
  return config;
}

}  // namespace

TEST_CASE("refuses a bad configuration by its field, planning and creating alike") {
  const std::string directory = golden_path("qwen3") + "/model";
  for (const BadConfig& bad : kBadConfigs) {
    CAPTURE(bad.field);
    tdl_engine_config config = good_config(directory);
    bad.change(config);
    auto out = std::make_unique<Out>();
    std::memset(static_cast<void*>(out.get()), 0xA5, sizeof *out);
    out->plan.struct_size = sizeof out->plan;
    const auto before = std::make_unique<Out>(*out);
    for (const bool plan : {true, false}) {
      CAPTURE(plan);
      Error error;
      const tdl_status status = plan ? tdl_engine_plan(&config, &out->plan, &error) : tdl_engine_create(&config, &out->engine, &error);
      CHECK_MESSAGE(status == bad.status, name_of(status), ": ", error.message);
      CHECK(error.status == status);
      CHECK_MESSAGE(std::strstr(error.message, bad.field.c_str()) != nullptr, error.message);
      CHECK((error.required != 0) == (bad.status == TDL_E_LIMIT || bad.status == TDL_E_OUT_OF_MEMORY || bad.status == TDL_E_RANGE));
      if (bad.status == TDL_E_RANGE) CHECK(error.required == 4096);  // the model's own max_context
      CHECK(std::memcmp(static_cast<const void*>(out.get()), before.get(), sizeof *out) == 0);
    }
  }
}

TEST_CASE("a plan says what create takes, and creates nothing") {
  const std::string directory = golden_path("qwen3") + "/model";
  const tdl_engine_config config = good_config(directory);
  tdl_memory_plan plan;
  tdl_memory_plan_init(&plan, sizeof plan);
  Error error;
  REQUIRE_MESSAGE(tdl_engine_plan(&config, &plan, &error) == TDL_OK, error.message);
  CHECK(plan.num_blocks == 16);
  CHECK(plan.kv_cache == 16ull * 2 * 2 * 2 * 16 * 128 * 4);  // blocks, layers, k and v, KV heads, tokens, head_dim, f32
  CHECK(plan.weights > 0);
  tdl_engine* engine = nullptr;
  REQUIRE(tdl_engine_create(&config, &engine, nullptr) == TDL_OK);
  const EngineHandle owner(engine);
  CHECK(info_of(engine).num_blocks == plan.num_blocks);
}

TEST_CASE("refuses what no source can hold, and leaves the source as it was") {
  const TempFolder folder;
  const std::string file = folder.write("pack", "0123456789");
  struct BadSource {
    std::string name;
    std::function<tdl_status(tdl_source*, tdl_error*)> call;
    tdl_status status;
  };
  const std::string& path = folder.path();
  const auto memory = [](const char* name, size_t length) {
    return [=](tdl_source* s, tdl_error* e) { return tdl_source_add_memory(s, name, length, "x", 1, e); };
  };
  const auto range = [&file](uint64_t offset, uint64_t bytes) {
    return [=](tdl_source* s, tdl_error* e) { return tdl_source_add_range(s, "part", 4, file.data(), file.size(), offset, bytes, e); };
  };
  char text[4] = "abc";
  size_t bytes = 77;
  const std::vector<BadSource> calls = {
      {"null path", [](auto* s, auto* e) { return tdl_source_add_directory(s, nullptr, 3, e); }, TDL_E_INVALID_ARGUMENT},
      {"empty path", [](auto* s, auto* e) { return tdl_source_add_directory(s, "", 0, e); }, TDL_E_INVALID_ARGUMENT},
      {"path with NUL", [](auto* s, auto* e) { return tdl_source_add_directory(s, "a\0b", 3, e); }, TDL_E_INVALID_ARGUMENT},
      {"path that is no UTF-8", [](auto* s, auto* e) { return tdl_source_add_directory(s, "\xff", 1, e); }, TDL_E_INVALID_ARGUMENT},
      {"missing directory", [](auto* s, auto* e) { return tdl_source_add_directory(s, "/nowhere", 8, e); }, TDL_E_NOT_FOUND},
      {"a file as directory", [&](auto* s, auto* e) { return tdl_source_add_directory(s, file.data(), file.size(), e); }, TDL_E_IO},
      {"null name", memory(nullptr, 2), TDL_E_INVALID_ARGUMENT},
      {"empty name", memory("", 0), TDL_E_INVALID_ARGUMENT},
      {"name that leads out", memory("../x", 4), TDL_E_INVALID_ARGUMENT},
      {"name with a backslash", memory("a\\b", 3), TDL_E_INVALID_ARGUMENT},
      {"name ..", memory("..", 2), TDL_E_INVALID_ARGUMENT},
      {"name given before", memory("config.json", 11), TDL_E_CONFLICT},
      {"null data", [](auto* s, auto* e) { return tdl_source_add_memory(s, "y", 1, nullptr, 5, e); }, TDL_E_INVALID_ARGUMENT},
      {"range past the end", range(8, 3), TDL_E_IO},
      {"range that wraps", range(8, UINT64_MAX), TDL_E_IO},
      {"range of nothing there", range(11, 0), TDL_E_IO},
      {"range of a directory", [&](auto* s, auto* e) { return tdl_source_add_range(s, "p", 1, path.data(), path.size(), 0, 1, e); }, TDL_E_IO},
      {"range of a missing file", [](auto* s, auto* e) { return tdl_source_add_range(s, "p", 1, "/nowhere", 8, 0, 1, e); }, TDL_E_NOT_FOUND},
      {"null path of a range", [](auto* s, auto* e) { return tdl_source_add_range(s, "p", 1, nullptr, 8, 0, 1, e); }, TDL_E_INVALID_ARGUMENT},
      {"reading what is not there", [&](auto* s, auto* e) { return tdl_source_read(s, "z", 1, text, 4, &bytes, e); }, TDL_E_NOT_FOUND},
      {"reading into null", [&](auto* s, auto* e) { return tdl_source_read(s, "config.json", 11, nullptr, 4, &bytes, e); }, TDL_E_INVALID_ARGUMENT},
      {"reading without a size", [&](auto* s, auto* e) { return tdl_source_read(s, "config.json", 11, text, 4, nullptr, e); }, TDL_E_INVALID_ARGUMENT},
  };
  tdl_source* source = nullptr;
  REQUIRE(tdl_source_create(&source, nullptr) == TDL_OK);
  const SourceHandle owner(source);
  REQUIRE(tdl_source_add_memory(source, "config.json", 11, "{}", 2, nullptr) == TDL_OK);
  for (const BadSource& bad : calls) {
    CAPTURE(bad.name);
    Error error;
    const tdl_status status = bad.call(source, &error);
    CHECK_MESSAGE(status == bad.status, name_of(status), ": ", error.message);
    CHECK(error.message[0] != '\0');
    CHECK(bad.call(source, nullptr) == bad.status);
    CHECK(std::strcmp(text, "abc") == 0);
    CHECK(bytes == 77);
  }
  Error error;
  CHECK(tdl_source_read(source, "config.json", 11, text, 1, &bytes, &error) == TDL_E_BUFFER_TOO_SMALL);
  CHECK(bytes == 2);
  CHECK(error.required == 2);
  CHECK(std::strcmp(text, "abc") == 0);
  CHECK(tdl_source_read(source, "config.json", 11, text, 4, &bytes, nullptr) == TDL_OK);
  CHECK(std::string(text, bytes) == "{}");
  for (const char* name : {"part", "p", "y", "a\\b"}) CHECK(tdl_source_read(source, name, std::strlen(name), text, 4, &bytes, nullptr) < 0);
}
