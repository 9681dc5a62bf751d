// The products of a decode step alone, as the stages run them, in one captured graph: how close they come to one read of the weights.
//
//     gpu_chain [ROWS ...]      Qwen3-8B's shape, random weights
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/device.h"
#include "tests/bench/gpu_rates.h"

namespace {

using namespace tdl;

constexpr uint32_t kLayers = 36, kHidden = 4096, kInner = 12288, kQkv = 6144, kVocab = 151936, kMostRows = 256;

struct Chain {
  Device& device;
  const StageTable& stages = device.stages();
  std::unique_ptr<Stream> stream = std::move(device.create_stream()).value();
  std::unique_ptr<DeviceMemory> memory;
  uint64_t next = 0, weights = 0, parts[4] = {}, head = 0, work = 0;

  explicit Chain(Device& on) : device(on) {
    constexpr uint64_t kLayerElements = uint64_t{kHidden} * (kQkv + kHidden + 2 * kInner + kInner), kHeadElements = uint64_t{kVocab} * kHidden;
    const uint64_t elements = kLayers * kLayerElements + kHeadElements;
    memory = std::move(device.allocate(2 * elements + (1ull << 30))).value();
    weights = memory->span().address;
    head = weights + 2 * kLayers * kLayerElements;
    work = (weights + 2 * elements + 255) / 256 * 256;
    need(stages.fill_random({{weights}, DType::bf16, elements, 1, false}, *stream));
    need(stages.fill_random({{work}, DType::f32, 1ull << 26, 2, false}, *stream));
    const PassHeader header{kMostRows, kMostRows, kMostRows, 1, -1, 0, {}};
    need(device.copy_to_device(work + (900ull << 20), &header, sizeof header, *stream));
    device.set_workspace({work + (960ull << 20), 32ull << 20});
    finish();
  }
  static void need(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "gpu_chain: %s\n", status.message());
    std::exit(1);
  }
  void finish() {
    auto event = std::move(device.create_event()).value();
    need(device.record(*event, *stream));
    need(device.wait(*event, UINT64_MAX));
  }
  void enqueue(uint32_t rows, Stream& on, bool with_head) {
    const DevicePtr<const PassHeader> header{work + (900ull << 20)};
    const DevicePtr<float> hidden{work}, qkv{work + (64ull << 20)}, norm{work + (128ull << 20)};
    const DevicePtr<void> normed{work + (192ull << 20)}, attended{work + (256ull << 20)}, both{work + (320ull << 20)}, inner{work + (384ull << 20)};
    uint64_t at = weights;
    const auto matrix = [&at](uint32_t out, uint32_t in) {
      const Matrix m{{at}, DType::bf16, out, in};
      at += 2ull * out * in;
      return m;
    };
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      need(stages.qkv({header, hidden, norm, matrix(kQkv, kHidden), {}, normed, qkv, 1e-6f, rows}, on));
      need(stages.linear_residual({header, attended, matrix(kHidden, kHidden), {}, hidden, rows}, on));
      need(stages.gate_up({header, hidden, norm, matrix(2 * kInner, kHidden), {}, normed, both, inner, DType::bf16, 1e-6f, rows}, on));
      need(stages.linear_residual({header, inner, matrix(kHidden, kInner), {}, hidden, rows}, on));
    }
    if (!with_head) return;
    const DevicePtr<int32_t> output_row{work + (910ull << 20)}, status{work + (911ull << 20)};
    need(stages.head({header, output_row, hidden, norm, matrix(kVocab, kHidden), normed, {work + (448ull << 20)}, {work + (512ull << 20)}, status, 1e-6f, rows}, on));
  }
  double run(uint32_t rows, bool with_head) {
    enqueue(rows, *stream, with_head);
    finish();
    need(device.begin_capture(*stream));
    enqueue(rows, *stream, with_head);
    const auto graph = std::move(device.end_capture(*stream)).value();
    std::vector<uint64_t> times;
    auto begin = std::move(device.create_event()).value(), end = std::move(device.create_event()).value();
    for (int i = 0; i < 23; ++i) {
      need(device.record(*begin, *stream));
      need(device.launch(*graph, *stream));
      need(device.record(*end, *stream));
      need(device.wait(*end, UINT64_MAX));
      if (i >= 3) times.push_back(device.elapsed_ns(*begin, *end));
    }
    std::sort(times.begin(), times.end());
    return static_cast<double>(times[times.size() / 2]) * 1e-6;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bench::GpuRates rates = bench::gpu_rates();
  auto opened = cuda_device(0);
  if (!opened.ok()) return std::fprintf(stderr, "gpu_chain: %s\n", opened.status().message()), 1;
  const std::unique_ptr<Device> device = std::move(opened).value();
  Chain chain(*device);
  const double layers = 2.0 * kLayers * kHidden * (kQkv + kHidden + 3.0 * kInner), all = layers + 2.0 * kVocab * kHidden;
  std::printf("read %.0f GB/s\n", rates.read * 1e-9);
  for (int i = 1; i < argc || i == 1; ++i) {
    const auto rows = argc > 1 ? static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)) : 1;
    if (rows == 0 || rows > kMostRows) continue;
    const double whole = chain.run(rows, true), without = chain.run(rows, false);
    std::printf("%3u rows: %.3f ms = %.3f x floor; the layers alone %.3f ms = %.3f x\n", rows, whole, whole * 1e-3 * rates.read / all, without, without * 1e-3 * rates.read / layers);
  }
  return 0;
}
