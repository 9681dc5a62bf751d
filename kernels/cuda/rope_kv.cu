// rope_kv: q and k norms, rotary embedding (q in place), and the row's k and v into the cache.  A warp takes one head of one row.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

constexpr uint32_t kWarps = 4, kThreads = 32 * kWarps;
constexpr uint32_t kMostPairs = 8;  // of a lane: head_dim up to 512

// Element i and element i + half of a head, i = lane + 32 j.
struct Pairs {
  float low[kMostPairs], high[kMostPairs];
};

template <class T>
__global__ void __launch_bounds__(kThreads) rope_kv_kernel(const RopeKvArgs args) {
  wait_for_predecessors();
  let_successor_start();
  const uint32_t row = blockIdx.x, head = blockIdx.y * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t heads = args.shape.heads, kv_heads = args.shape.kv_heads, n = args.shape.head_dim, half = n / 2;
  if (row >= at(args.header)->num_rows || head >= heads + 2 * kv_heads) return;
  float* x = at(args.qkv) + (static_cast<uint64_t>(row) * (heads + 2 * kv_heads) + head) * n;
  Pairs pair;
  float squares = 0;
#pragma unroll
  for (uint32_t j = 0; j < kMostPairs; ++j) {
    const uint32_t i = lane + 32 * j;
    pair.low[j] = i < half ? x[i] : 0;
    pair.high[j] = i < half ? x[i + half] : 0;
    squares += pair.low[j] * pair.low[j] + pair.high[j] * pair.high[j];
  }
  const bool rotates = head < heads + kv_heads;
  const float* norm = !rotates ? nullptr : head < heads ? at(args.q_norm) : at(args.k_norm);
  if (norm) {
    const float scale = rsqrtf(warp_sum(squares) / static_cast<float>(n) + args.eps);
#pragma unroll
    for (uint32_t j = 0; j < kMostPairs; ++j) {
      const uint32_t i = lane + 32 * j;
      if (i >= half) continue;
      pair.low[j] *= scale * norm[i];
      pair.high[j] *= scale * norm[i + half];
    }
  }
  if (rotates) {
    const float* angles = at(args.cos_sin) + static_cast<uint64_t>(row) * n;
#pragma unroll
    for (uint32_t j = 0; j < kMostPairs; ++j) {
      const uint32_t i = lane + 32 * j;
      if (i >= half) continue;
      const float cosine = angles[i], sine = angles[half + i], low = pair.low[j], high = pair.high[j];
      pair.low[j] = low * cosine - high * sine;
      pair.high[j] = high * cosine + low * sine;
    }
  }
  if (head < heads) {
#pragma unroll
    for (uint32_t j = 0; j < kMostPairs; ++j) {
      const uint32_t i = lane + 32 * j;
      if (i >= half) continue;
      x[i] = pair.low[j];
      x[i + half] = pair.high[j];
    }
    return;
  }
  const int64_t slot = at(args.meta.slot)[row];
  if (slot < 0) return;
  const uint32_t block_size = args.shape.block_size, kv_head = rotates ? head - heads : head - heads - kv_heads;
  const uint64_t block = static_cast<uint64_t>(slot) / block_size, offset = static_cast<uint64_t>(slot) % block_size;
  T* to = static_cast<T*>(at(args.kv.data)) + (((block * kv_heads + kv_head) * 2 + (rotates ? 0 : 1)) * block_size + offset) * n;
#pragma unroll
  for (uint32_t j = 0; j < kMostPairs; ++j) {
    const uint32_t i = lane + 32 * j;
    if (i >= half) continue;
    to[i] = from_float<T>(pair.low[j]);
    to[i + half] = from_float<T>(pair.high[j]);
  }
}

}  // namespace

Status rope_kv(const RopeKvArgs& args, Stream& stream) {
  const uint32_t n = args.shape.head_dim;
  if (n == 0 || n % 2 != 0 || n > 64 * kMostPairs) return fail(Code::unsupported, "head_dim is %u; a GPU takes even ones up to %u", n, 64 * kMostPairs);
  if (args.kv.dtype == DType::f32) return fail(Code::unsupported, "KV in f32 on a GPU");
  if (args.rows == 0) return {};
  const uint32_t heads = args.shape.heads + 2 * args.shape.kv_heads;
  return launch(cuda_stream(stream), "rope_kv", args.kv.dtype == DType::f16 ? rope_kv_kernel<__half> : rope_kv_kernel<__nv_bfloat16>,
                Shape{dim3(args.rows, (heads + kWarps - 1) / kWarps), dim3(kThreads)}, args);
}

Status prepare_rope_kv() {
  TDL_TRY(touch("rope_kv", rope_kv_kernel<__half>));
  return touch("rope_kv", rope_kv_kernel<__nv_bfloat16>);
}

}  // namespace tdl::cuda
