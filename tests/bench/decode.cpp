// Decode and prefill of a model with random weights, through the C ABI: tokens per second and the bytes of weights behind them.
//
//     decode MODEL_DIRECTORY [THREADS] [PREFILL_ROWS] [STEPS]      only config.json is read
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "treadle/treadle.h"

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool good(tdl_status status, const tdl_error& error) {
  if (status != TDL_OK) std::fprintf(stderr, "decode: %s: %s\n", tdl_status_name(status), error.message);
  return status == TDL_OK;
}

// One sequence: `rows` tokens behind `length`; gives the time, or a negative number on failure.
double run(tdl_pass* pass, uint32_t rows, uint32_t length, const std::vector<int32_t>& blocks, uint64_t* device_ns) {
  std::vector<uint32_t> tokens(rows), positions(rows);
  for (uint32_t i = 0; i < rows; ++i) {
    tokens[i] = 5 + (length + i) * 7 % 1000;
    positions[i] = length + i;
  }
  const uint32_t after = length + rows;
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  tdl_metadata m;
  tdl_metadata_init(&m, sizeof m);
  m.num_rows = rows;
  m.num_seqs = 1;
  m.max_blocks_per_seq = static_cast<uint32_t>(blocks.size());
  m.token_ids = tokens.data();
  m.positions = positions.data();
  m.seq_len = &after;
  m.block_table = blocks.data();
  tdl_step_result result;
  tdl_step_result_init(&result, sizeof result);
  const double begin = seconds();
  if (!good(tdl_upload_metadata(pass, &m, &error), error) || !good(tdl_step(pass, &result, &error), error)) return -1;
  *device_ns = result.device_time_ns;
  return seconds() - begin;
}

tdl_pass* begin_pass(tdl_engine* engine, int32_t kind) {
  tdl_pass_desc desc;
  tdl_pass_desc_init(&desc, sizeof desc);
  desc.kind = kind;
  tdl_pass* pass = nullptr;
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  good(tdl_pass_begin(engine, &desc, &pass, &error), error);
  return pass;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: decode MODEL_DIRECTORY [THREADS] [PREFILL_ROWS] [STEPS]\n"), 2;
  const auto number = [&](int at, uint32_t otherwise) { return argc > at ? static_cast<uint32_t>(std::strtoul(argv[at], nullptr, 10)) : otherwise; };
  const uint32_t threads = number(2, 1), rows = number(3, 512), steps = number(4, 16);
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  config.model_path = argv[1];
  config.model_path_length = std::strlen(argv[1]);
  config.device = "cpu";
  config.device_length = 3;
  config.num_threads = threads;
  config.max_seqs = 1;
  config.max_prefill_rows = rows;
  config.max_context = rows + steps + 8;
  config.flags = TDL_ENGINE_RANDOM_WEIGHTS;
  tdl_memory_plan plan;
  tdl_memory_plan_init(&plan, sizeof plan);
  tdl_engine* engine = nullptr;
  if (!good(tdl_engine_plan(&config, &plan, &error), error) || !good(tdl_engine_create(&config, &engine, &error), error)) return 1;
  std::vector<int32_t> blocks(plan.num_blocks);
  for (uint32_t i = 0; i < plan.num_blocks; ++i) blocks[i] = static_cast<int32_t>(i);
  tdl_pass *prefill = begin_pass(engine, TDL_PASS_PREFILL), *decode = begin_pass(engine, TDL_PASS_DECODE);
  if (!prefill || !decode) return 1;
  uint64_t device_ns = 0;
  double best_prefill = 1e30, total = 0, device_total = 0;
  for (int i = 0; i < 2; ++i) best_prefill = std::min(best_prefill, run(prefill, rows, 0, blocks, &device_ns));
  run(decode, 1, rows, blocks, &device_ns);
  for (uint32_t step = 0; step < steps; ++step) {
    total += run(decode, 1, rows + 1 + step, blocks, &device_ns);
    device_total += static_cast<double>(device_ns) * 1e-9;
  }
  std::printf("%u threads, %.2f GB of weights: prefill of %u tokens %.1f tokens/s; decode %.2f tokens/s, %.2f ms a step, %.2f GB/s of weights, host %.1f us a step\n",
              threads, static_cast<double>(plan.weights) * 1e-9, rows, rows / best_prefill, steps / total, 1e3 * total / steps,
              static_cast<double>(plan.weights) * steps / total * 1e-9, 1e6 * (total - device_total) / steps);
  tdl_pass_end(prefill);
  tdl_pass_end(decode);
  tdl_engine_destroy(engine);
  return 0;
}
