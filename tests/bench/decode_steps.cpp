// Decode of a model with random weights, through the C ABI: time of a step against the floor, which is every byte that it must read at
// the rate that this run measured.
//
//     decode MODEL_DIRECTORY [--device D] [--threads N] [--batch 1,8] [--context 512] [--steps 64]      only config.json is read
#include <algorithm>
#include <cstdio>

#include "tests/bench/bench_engine.h"
#include "tests/bench/gpu_rates.h"

namespace {

using namespace tdl::bench;

// Arrays of a decode of `batch` sequences whose lengths are all `length` after it.
struct Step {
  std::vector<uint32_t> tokens, positions, lengths;
  std::vector<int32_t> from, table;
  tdl_metadata m;

  Step(const Engine& engine, uint32_t batch) : tokens(batch, 17), positions(batch), lengths(batch), from(batch), table(engine.tables(batch)) {
    tdl_metadata_init(&m, sizeof m);
    m.num_rows = m.num_seqs = batch;
    m.max_blocks_per_seq = engine.blocks_each;
    m.token_ids = tokens.data();
    m.positions = positions.data();
    m.seq_len = lengths.data();
    m.block_table = table.data();
    for (uint32_t i = 0; i < batch; ++i) from[i] = static_cast<int32_t>(i);
  }
  void at(uint32_t length, bool chained) {
    std::fill(positions.begin(), positions.end(), length - 1);
    std::fill(lengths.begin(), lengths.end(), length);
    m.token_from = chained ? from.data() : nullptr;
  }
};

// Fills the first `context` positions of every sequence, several sequences to a pass.
void fill_context(const Engine& engine, uint32_t batch, uint32_t context, uint32_t rows) {
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  const uint32_t together = std::max(1u, std::min(batch, rows / context)), chunk = std::min(context, rows);
  tdl_pass* pass = engine.begin(TDL_PASS_PREFILL, together);
  const std::vector<int32_t> table = engine.tables(batch);
  for (uint32_t first = 0; first < batch; first += together) {
    for (uint32_t done = 0; done < context; done += chunk) {
      const uint32_t seqs = std::min(together, batch - first), count = std::min(chunk, context - done);
      std::vector<uint32_t> tokens, positions, lengths(seqs, done + count), start(1, 0);
      for (uint32_t s = 0; s < seqs; ++s) {
        for (uint32_t i = 0; i < count; ++i) {
          tokens.push_back((first + s) * 131 % 997 + (done + i) * 7 % 1000);
          positions.push_back(done + i);
        }
        start.push_back(static_cast<uint32_t>(tokens.size()));
      }
      tdl_metadata m;
      tdl_metadata_init(&m, sizeof m);
      m.num_rows = static_cast<uint32_t>(tokens.size());
      m.num_seqs = seqs;
      m.max_blocks_per_seq = engine.blocks_each;
      m.token_ids = tokens.data();
      m.positions = positions.data();
      m.seq_len = lengths.data();
      m.block_table = table.data() + uint64_t{first} * engine.blocks_each;
      m.query_start = seqs > 1 ? start.data() : nullptr;
      tdl_step_result result;
      tdl_step_result_init(&result, sizeof result);
      need(tdl_upload_metadata(pass, &m, &error), error, "upload");
      need(tdl_step(pass, &result, &error), error, "step");
    }
  }
  tdl_pass_end(pass);
}

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  if (options.batches.empty()) options.batches = {1};
  const uint32_t most = *std::max_element(options.batches.begin(), options.batches.end()), rows = 2048;
  const GpuRates rates = gpu_rates();
  const Shape shape = read_shape(options.model);
  if (rates.read > 0) std::printf("read %.0f GB/s, cuBLASLt %.0f TFLOP/s; %.2f GB of weights a step\n", rates.read * 1e-9, rates.matmul * 1e-12, 2e-9 * static_cast<double>(shape.streamed_parameters()));
  const Engine engine(options, most, options.context + 3 * options.steps + 16, rows);
  tdl_engine_stats stats;
  tdl_engine_stats_init(&stats, sizeof stats);
  tdl_engine_get_stats(engine.engine, &stats, nullptr);
  std::printf("created in %.2f s: %u graphs, %.1f MB, captured in %.0f ms; arena: weights %.2f GB, KV %.2f GB, workspace %.0f MB\n", engine.create_seconds, stats.graphs,
              static_cast<double>(stats.graph_bytes) * 1e-6, static_cast<double>(stats.graph_capture_ns) * 1e-6, static_cast<double>(engine.plan.weights) * 1e-9,
              static_cast<double>(engine.plan.kv_cache) * 1e-9, static_cast<double>(engine.plan.workspace) * 1e-6);
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  for (const uint32_t batch : options.batches) {
    fill_context(engine, batch, options.context, rows);
    tdl_pass* pass = engine.begin(TDL_PASS_DECODE, batch);
    Step step(engine, batch);
    tdl_step_result result;
    tdl_step_result_init(&result, sizeof result);
    uint32_t length = options.context;
    // One after the other: what a host that looks at every token sees.
    std::vector<double> device;
    double serial = 0;
    for (uint32_t i = 0; i < options.steps; ++i) {
      step.at(++length, false);
      const double begin = seconds();
      need(tdl_upload_metadata(pass, &step.m, &error), error, "upload");
      need(tdl_step(pass, &result, &error), error, "step");
      if (i >= 8) serial += seconds() - begin;
      if (i >= 8) device.push_back(static_cast<double>(result.device_time_ns) * 1e-6);
    }
    // Two in flight, each fed by the tokens of the one before on the device.
    double host = 0, begin = 0;
    uint64_t tickets[2] = {0, 0};
    for (uint32_t i = 0; i < options.steps; ++i) {
      if (i == 8) begin = seconds();
      step.at(++length, i > 0);
      if (tickets[i % 2]) need(tdl_wait(engine.engine, tickets[i % 2], UINT64_MAX, nullptr, &error), error, "wait");
      const double from = seconds();
      need(tdl_upload_metadata(pass, &step.m, &error), error, "upload");
      need(tdl_submit(pass, &tickets[i % 2], &error), error, "submit");
      if (i >= 8) host += seconds() - from;
    }
    need(tdl_wait(engine.engine, tickets[(options.steps - 1) % 2], UINT64_MAX, nullptr, &error), error, "wait");
    const double counted = options.steps - 8, chained = (seconds() - begin) / counted;
    std::sort(device.begin(), device.end());
    const double bytes = 2.0 * static_cast<double>(shape.streamed_parameters()) + static_cast<double>(batch) * options.context * static_cast<double>(shape.kv_bytes_per_token(2));
    const double floor = rates.read > 0 ? bytes / rates.read * 1e3 : 0;
    std::printf("B=%-4u context %u: step %.3f ms (device %.3f), back to back %.3f ms", batch, options.context, 1e3 * serial / counted, device[device.size() / 2], 1e3 * chained);
    if (floor > 0) std::printf(" = %.3f x floor %.3f ms (device %.3f x)", 1e3 * chained / floor, floor, device[device.size() / 2] / floor);
    std::printf(", host %.1f us a pass, %.0f tokens/s, %s\n", 1e6 * host / counted, batch / chained, result.replayed ? "replayed" : "eager");
    std::fflush(stdout);
    tdl_pass_end(pass);
  }
  return 0;
}
