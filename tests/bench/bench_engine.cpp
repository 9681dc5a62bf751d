#include "tests/bench/bench_engine.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tdl::bench {
namespace {

std::vector<uint32_t> numbers(const char* text) {
  std::vector<uint32_t> values;
  for (char* end = nullptr; *text; text = *end ? end + 1 : end) {
    values.push_back(static_cast<uint32_t>(std::strtoul(text, &end, 10)));
    if (end == text) break;
  }
  return values;
}

}  // namespace

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void need(tdl_status status, const tdl_error& error, const char* what) {
  if (status == TDL_OK) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, tdl_status_name(status), error.message);
  std::exit(1);
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0 && options.model.empty()) {
      options.model = name;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (name == "--device") options.device = value;
    else if (name == "--threads") options.threads = numbers(value).at(0);
    else if (name == "--batch") options.batches = numbers(value);
    else if (name == "--context") options.context = numbers(value).at(0);
    else if (name == "--steps") options.steps = numbers(value).at(0);
    else if (name == "--length") options.lengths = numbers(value);
    else if (name == "--chunk") options.chunk = numbers(value).at(0);
    else options.model.clear(), i = argc;
  }
  if (options.model.empty()) {
    std::fprintf(stderr, "usage: %s MODEL_DIRECTORY [--device D] [--threads N] [--batch N,N] [--context N] [--steps N] [--length N,N] [--chunk N]\n", argv[0]);
    std::exit(2);
  }
  return options;
}

Shape read_shape(const std::string& model) {
  std::ifstream file(model + "/config.json");
  const nlohmann::json c = nlohmann::json::parse(file);
  Shape shape{};
  shape.layers = c.at("num_hidden_layers");
  shape.hidden = c.at("hidden_size");
  shape.heads = c.at("num_attention_heads");
  shape.kv_heads = c.value("num_key_value_heads", shape.heads);
  shape.head_dim = c.value("head_dim", shape.hidden / shape.heads);
  shape.intermediate = c.at("intermediate_size");
  shape.vocab = c.at("vocab_size");
  return shape;
}

Engine::Engine(const Options& options, uint32_t seqs, uint32_t context, uint32_t rows) {
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  config.model_path = options.model.data();
  config.model_path_length = options.model.size();
  config.device = options.device.data();
  config.device_length = options.device.size();
  config.num_threads = options.threads;
  config.max_seqs = seqs;
  config.max_prefill_rows = rows;
  config.max_context = (context + block_size - 1) / block_size * block_size;
  config.block_size = block_size;
  config.flags = TDL_ENGINE_RANDOM_WEIGHTS;
  blocks_each = config.max_context / block_size;
  config.num_blocks = blocks_each * seqs;
  tdl_memory_plan_init(&plan, sizeof plan);
  need(tdl_engine_plan(&config, &plan, &error), error, "plan");
  const double begin = seconds();
  need(tdl_engine_create(&config, &engine, &error), error, "create");
  create_seconds = seconds() - begin;
}

tdl_pass* Engine::begin(int32_t kind, uint32_t seqs) const {
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  tdl_pass_desc desc;
  tdl_pass_desc_init(&desc, sizeof desc);
  desc.kind = kind;
  desc.num_seqs = seqs;
  tdl_pass* pass = nullptr;
  need(tdl_pass_begin(engine, &desc, &pass, &error), error, "pass_begin");
  return pass;
}

std::vector<int32_t> Engine::tables(uint32_t seqs) const {
  std::vector<int32_t> table(uint64_t{seqs} * blocks_each);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int32_t>(i);
  return table;
}

}  // namespace tdl::bench
