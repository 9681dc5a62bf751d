// The host device's products against the machine: decode's share of the read bandwidth measured beside it, prefill against OpenBLAS
// where that is there.  Prints ratios of one run; nothing here is a test.
//
//     host_linear [MEGABYTES]      weights rotate over so much memory (default 512), to be well past the caches
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/core/os.h"
#include "kernels/host/pool.h"
#include "kernels/host/product.h"

#ifdef TREADLE_OPENBLAS
extern "C" {
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void openblas_set_num_threads(int threads);
}
#endif

namespace {

using namespace tdl;
using namespace tdl::host;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The best of `tries` runs: the machine's other work only ever makes one slower.
template <class F>
double best_of(int tries, const F& f) {
  double best = 1e30;
  for (int i = 0; i < tries; ++i) {
    const double begin = seconds();
    f();
    best = std::min(best, seconds() - begin);
  }
  return best;
}

std::atomic<uint64_t> sink{0};

// Reads everything once, with as many loads in flight as the compiler's vectors give; slices as a product's items are.
double read_gb(const os::Pages& memory, Pool& pool) {
  const uint64_t slice = 1u << 20, slices = memory.bytes() / slice;
  const double time = best_of(5, [&] {
    pool.for_each(static_cast<uint32_t>(slices), [&](uint32_t item) {
      const auto* at = reinterpret_cast<const uint64_t*>(memory.data() + item * slice);
      uint64_t sum[8] = {};
      for (uint64_t i = 0; i < slice / 8; i += 8)
        for (int k = 0; k < 8; ++k) sum[k] ^= at[i + k];
      for (const uint64_t part : sum) sink.fetch_xor(part, std::memory_order_relaxed);
    });
  });
  return static_cast<double>(memory.bytes()) / time / 1e9;
}

struct Shape {
  const char* name;
  uint32_t out, in;
};
constexpr Shape kShapes[] = {{"qkv 6144x4096", 6144, 4096}, {"o 4096x4096", 4096, 4096}, {"gate_up 24576x4096", 24576, 4096}, {"down 4096x12288", 4096, 12288}, {"gate_up 16384x2048", 16384, 2048}, {"down 2048x8192", 2048, 8192}};

void decode(const os::Pages& memory, Pool& pool) {
  std::vector<float> x(12288 * 8), y(24576 * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8.0f;
  for (const Shape& shape : kShapes) {
    for (const uint32_t rows : {1u, 2u, 4u, 8u}) {
      const uint64_t bytes = uint64_t{shape.out} * shape.in * 2, copies = std::max<uint64_t>(1, memory.bytes() / bytes);
      const double time = best_of(5, [&] {
        for (uint64_t c = 0; c < copies; ++c) {
          const Matrix weight{{reinterpret_cast<uintptr_t>(memory.data()) + c * bytes}, DType::bf16, shape.out, shape.in};
          product(weight, rows, pool, [&](uint32_t row) { return x.data() + uint64_t{row} * shape.in; },
                  [&](uint32_t row, uint32_t first, uint32_t outs, const float* sums) { std::copy_n(sums, outs, y.data() + uint64_t{row} * shape.out + first); });
        }
      });
      const double gb = static_cast<double>(bytes * copies) / time / 1e9, read = read_gb(memory, pool);
      std::printf("decode  %u threads  %-20s rows %u  %6.2f GB/s of weights  %5.1f%% of the %.2f GB/s read\n", pool.threads(), shape.name, rows, gb, 100 * gb / read, read);
    }
  }
}

void prefill(const os::Pages& memory, Pool& pool) {
  constexpr uint32_t kRows = 512;
  for (const Shape& shape : {Shape{"4096x4096", 4096, 4096}, Shape{"8192x2048", 8192, 2048}}) {
    std::vector<float> x(uint64_t{kRows} * shape.in), y(uint64_t{kRows} * shape.out);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8.0f;
    const Matrix weight{{reinterpret_cast<uintptr_t>(memory.data())}, DType::bf16, shape.out, shape.in};
    const double flops = 2.0 * kRows * shape.out * shape.in;
    const double own = best_of(3, [&] {
      product(weight, kRows, pool, [&](uint32_t row) { return x.data() + uint64_t{row} * shape.in; },
              [&](uint32_t row, uint32_t first, uint32_t outs, const float* sums) { std::copy_n(sums, outs, y.data() + uint64_t{row} * shape.out + first); });
    });
    std::printf("prefill %u threads  %-20s rows %u  %6.1f GFLOP/s", pool.threads(), shape.name, kRows, flops / own / 1e9);
#ifdef TREADLE_OPENBLAS
    std::vector<float> wide(uint64_t{shape.out} * shape.in, 0.5f);
    openblas_set_num_threads(static_cast<int>(pool.threads()));
    const double theirs = best_of(3, [&] {
      cblas_sgemm(101, 111, 112, kRows, static_cast<int>(shape.out), static_cast<int>(shape.in), 1, x.data(), static_cast<int>(shape.in), wide.data(),
                  static_cast<int>(shape.in), 0, y.data(), static_cast<int>(shape.out));
    });
    std::printf("  OpenBLAS sgemm (f32 weights) %6.1f  ratio %.2f", flops / theirs / 1e9, theirs / own);
#endif
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t megabytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 512;
  auto memory = os::Pages::map(std::max<uint64_t>(megabytes, 256) << 20);
  if (!memory.ok()) return std::printf("%s\n", memory.status().message()), 1;
  auto* half = reinterpret_cast<uint16_t*>(memory->data());
  for (uint64_t i = 0; i < memory->bytes() / 2; ++i) half[i] = f32_to_bf16(static_cast<float>(i * 7 % 255) / 64.0f - 2.0f);
  for (const uint32_t threads : {1u, 2u}) {
    auto pool = Pool::create(threads);
    if (!pool.ok()) return std::printf("%s\n", pool.status().message()), 1;
    std::printf("inner loops: %s\n", (*pool)->loops().name);
    decode(*memory, **pool);
    prefill(*memory, **pool);
  }
  return 0;
}
