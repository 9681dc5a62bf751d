#include "tests/bench/gpu_rates.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cuda/product.h"
#include "kernels/cuda/stream.h"
#include "kernels/device.h"

namespace tdl::bench {
namespace {

__global__ void read_all(const uint4* data, size_t count, unsigned* never) {
  unsigned sum = 0;
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = __ldcs(data + i), b = __ldcs(data + i + step), c = __ldcs(data + i + 2 * step), d = __ldcs(data + i + 3 * step);
    sum ^= a.x ^ b.y ^ c.z ^ d.w ^ a.y ^ b.x ^ c.w ^ d.z ^ a.z ^ b.z ^ c.x ^ d.x ^ a.w ^ b.w ^ c.y ^ d.y;
  }
  if (sum == 0x12345) *never = sum;
}

// The median of nine runs, in seconds.
template <class Run>
double median_time(cudaStream_t stream, Run&& run) {
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 11; ++i) {
    cudaEventRecord(begin, stream);
    run();
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    if (i >= 2) times.push_back(milliseconds);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e-3;
}

}  // namespace

GpuRates gpu_rates() {
  auto opened = cuda_device(0);
  if (!opened.ok()) return {};
  const std::unique_ptr<Device> device = std::move(opened).value();
  constexpr uint64_t kBytes = 8ull << 30, kOut = 24576, kIn = 4096, kRows = 4096;
  auto allocated = device->allocate(kBytes + 4096);
  auto made = device->create_stream();
  if (!allocated.ok() || !made.ok()) return {};
  const uint64_t base = (*allocated)->span().address;
  auto& stream = static_cast<cuda::CudaStream&>(**made);
  if (!device->stages().fill_random({{base}, DType::bf16, kBytes / 2, 7, false}, stream).ok()) return {};
  GpuRates rates{};
  rates.read = static_cast<double>(kBytes) / median_time(stream.native(), [&] {
    read_all<<<132 * 8, 512, 0, stream.native()>>>(reinterpret_cast<const uint4*>(base), kBytes / 16, reinterpret_cast<unsigned*>(base + kBytes));
  });
  auto library = cuda::CublasLt::open();
  if (!library.ok()) return rates;
  auto table = cuda::ProductTable::create(std::move(library).value());
  if (!table.ok()) return rates;
  (*table)->set_workspace({base + (4ull << 30), 32ull << 20});
  const uint64_t x = base + (1ull << 30), out = base + (2ull << 30);
  const cuda::Product product{{{base}, DType::bf16, kOut, kIn}, reinterpret_cast<const void*>(x), nullptr, reinterpret_cast<void*>(out), DType::bf16, false, kRows};
  bool ok = true;
  const double seconds = median_time(stream.native(), [&] { ok = (*table)->run(product, stream).ok() && ok; });
  if (ok) rates.matmul = 2.0 * kOut * kIn * kRows / seconds;
  return rates;
}

}  // namespace tdl::bench
