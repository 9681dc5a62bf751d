// Prefill of a model with random weights, through the C ABI: time against the floor, which is the arithmetic of its products at the rate
// that cuBLASLt reached in this run.
//
//     prefill MODEL_DIRECTORY [--device D] [--threads N] [--length 512,2048,8192] [--chunk N]      only config.json is read
#include <algorithm>
#include <cstdio>

#include "tests/bench/bench_engine.h"
#include "tests/bench/gpu_rates.h"

int main(int argc, char** argv) {
  using namespace tdl::bench;
  Options options = read_options(argc, argv);
  if (options.lengths.empty()) options.lengths = {512, 2048, 8192};
  const uint32_t most = *std::max_element(options.lengths.begin(), options.lengths.end());
  const GpuRates rates = gpu_rates();
  const Shape shape = read_shape(options.model);
  const Engine engine(options, 1, most, options.chunk ? options.chunk : most);
  tdl_error error;
  tdl_error_init(&error, sizeof error);
  tdl_pass* pass = engine.begin(TDL_PASS_PREFILL, 1);
  const std::vector<int32_t> table = engine.tables(1);
  std::vector<uint32_t> tokens(most), positions(most);
  for (uint32_t i = 0; i < most; ++i) {
    tokens[i] = i * 7 % 1000;
    positions[i] = i;
  }
  for (const uint32_t length : options.lengths) {
    std::vector<double> wall, device;
    for (int repeat = 0; repeat < 7; ++repeat) {
      const double begin = seconds();
      double on_device = 0;
      const uint32_t chunk = options.chunk ? options.chunk : length;
      for (uint32_t done = 0; done < length; done += chunk) {
        const uint32_t rows = std::min(chunk, length - done), after = done + rows;
        tdl_metadata m;
        tdl_metadata_init(&m, sizeof m);
        m.num_rows = rows;
        m.num_seqs = 1;
        m.max_blocks_per_seq = engine.blocks_each;
        m.token_ids = tokens.data() + done;
        m.positions = positions.data() + done;
        m.seq_len = &after;
        m.block_table = table.data();
        tdl_step_result result;
        tdl_step_result_init(&result, sizeof result);
        need(tdl_upload_metadata(pass, &m, &error), error, "upload");
        need(tdl_step(pass, &result, &error), error, "step");
        on_device += static_cast<double>(result.device_time_ns) * 1e-6;
      }
      if (repeat >= 2) wall.push_back(1e3 * (seconds() - begin));
      if (repeat >= 2) device.push_back(on_device);
    }
    std::sort(wall.begin(), wall.end());
    std::sort(device.begin(), device.end());
    const double pairs = 0.5 * length * (length + 1.0);  // of a query and a key that it sees
    const double products = 2.0 * length * static_cast<double>(shape.streamed_parameters() - shape.vocab * shape.hidden);
    const double attention = 4.0 * pairs * static_cast<double>(shape.layers * shape.heads * shape.head_dim);
    const double ms = wall[wall.size() / 2], floor = rates.matmul > 0 ? 1e3 * (products + attention) / rates.matmul : 0;
    std::printf("%u tokens in chunks of %u: %.2f ms (device %.2f), %.0f tokens/s, %.0f TFLOP/s", length, options.chunk ? options.chunk : length, ms, device[device.size() / 2],
                1e3 * length / ms, (products + attention) / ms * 1e-9);
    if (floor > 0) std::printf(" = %.3f x the arithmetic at cuBLASLt's %.0f TFLOP/s", ms / floor, rates.matmul * 1e-12);
    std::printf("\n");
    std::fflush(stdout);
  }
  tdl_pass_end(pass);
  return 0;
}
