// attention: a block for each head of each row.  Its warps share the row's KV positions in groups of four, each with a running softmax
// of its own, and their results are combined in warp order: a row's bits depend on its own length and KV alone.  K and V are read once
// for every query head; kernels that share them among the heads of a KV head, and split long rows over blocks, are to replace this.
#include "kernels/cuda/attention.h"

#include "kernels/cuda/attention_rows.cuh"

namespace tdl::cuda {
namespace {

constexpr uint32_t kWarps = 8, kThreads = 32 * kWarps;
constexpr uint32_t kTogether = 4;  // positions that a warp has in flight

// A lane holds elements 2 (lane + 32 j) and the next, j < kPairs, of a head.
template <class T, uint32_t kPairs>
__global__ void __launch_bounds__(kThreads) attention_kernel(const AttentionArgs args) {
  __shared__ float top_of[kWarps], weight_of[kWarps], sum_of[kWarps][kPairs * 64];
  wait_for_predecessors();
  let_successor_start();
  const uint32_t row = blockIdx.x, head = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Live live(args);
  if (row >= live.rows) return;
  const Visible visible = visible_to(args, live, row);
  const uint32_t n = args.shape.head_dim, kv_heads = args.shape.kv_heads, block_size = args.shape.block_size;
  const uint32_t kv_head = head / (args.shape.heads / kv_heads);
  const float* q_row = at(args.qkv) + static_cast<uint64_t>(row) * (args.shape.heads + 2 * kv_heads) * n + static_cast<uint64_t>(head) * n;
  const int32_t* table = at(args.meta.block_table) + static_cast<uint64_t>(visible.seq) * live.stride;

  float2 q[kPairs], sum[kPairs] = {};
#pragma unroll
  for (uint32_t j = 0; j < kPairs; ++j) {
    const uint32_t i = 2 * (lane + 32 * j);
    q[j] = i < n ? *reinterpret_cast<const float2*>(q_row + i) : float2{};
  }
  float top = -INFINITY, weight = 0;
  for (uint32_t first = visible.begin + warp * kTogether; first < visible.end; first += kWarps * kTogether) {
    uint32_t k[kTogether][kPairs], v[kTogether][kPairs];
#pragma unroll
    for (uint32_t p = 0; p < kTogether; ++p) {
      const uint32_t position = first + p;
      const bool there = position < visible.end;
      const uint64_t block = there ? static_cast<uint64_t>(static_cast<uint32_t>(table[position / block_size])) : 0;
      const T* key = static_cast<const T*>(at(args.kv.data)) + ((block * kv_heads + kv_head) * 2 * block_size + position % block_size) * n;
      const T* value = key + static_cast<uint64_t>(block_size) * n;
#pragma unroll
      for (uint32_t j = 0; j < kPairs; ++j) {
        const uint32_t i = 2 * (lane + 32 * j);
        const bool inside = there && i < n;
        k[p][j] = inside ? *reinterpret_cast<const uint32_t*>(key + i) : 0;
        v[p][j] = inside ? *reinterpret_cast<const uint32_t*>(value + i) : 0;
      }
    }
    float score[kTogether], next = top;
#pragma unroll
    for (uint32_t p = 0; p < kTogether; ++p) {
      float dot = 0;
#pragma unroll
      for (uint32_t j = 0; j < kPairs; ++j) {
        const float2 pair = Pair<T>::widen(k[p][j]);
        dot += q[j].x * pair.x + q[j].y * pair.y;
      }
      score[p] = first + p < visible.end ? warp_sum(dot) * args.scale : -INFINITY;
      next = fmaxf(next, score[p]);
    }
    // A score that is not a number must stay visible as such: the maximum passes over it, the weights below do not.
    const float shrink = __expf(top - next);
    weight *= shrink;
#pragma unroll
    for (uint32_t j = 0; j < kPairs; ++j) sum[j] = {sum[j].x * shrink, sum[j].y * shrink};
#pragma unroll
    for (uint32_t p = 0; p < kTogether; ++p) {
      const float share = first + p < visible.end ? __expf(score[p] - next) : 0.0f;
      weight += share;
#pragma unroll
      for (uint32_t j = 0; j < kPairs; ++j) {
        const float2 pair = Pair<T>::widen(v[p][j]);
        sum[j] = {sum[j].x + share * pair.x, sum[j].y + share * pair.y};
      }
    }
    top = next;
  }
  if (lane == 0) {
    top_of[warp] = top;
    weight_of[warp] = weight;
  }
#pragma unroll
  for (uint32_t j = 0; j < kPairs; ++j) *reinterpret_cast<float2*>(&sum_of[warp][2 * (lane + 32 * j)]) = sum[j];
  __syncthreads();

  const uint32_t element = 2 * threadIdx.x;
  if (element >= n) return;
  float most = -INFINITY, total = 0;
  for (uint32_t w = 0; w < kWarps; ++w) most = fmaxf(most, top_of[w]);
  float2 out{};
  for (uint32_t w = 0; w < kWarps; ++w) {
    if (visible.begin + w * kTogether >= visible.end) break;  // the warp, and all after it, had no position
    const float scale = __expf(top_of[w] - most);
    total += weight_of[w] * scale;
    out = {out.x + sum_of[w][element] * scale, out.y + sum_of[w][element + 1] * scale};
  }
  if (visible.begin < visible.end) out = {out.x / total, out.y / total};
  const uint64_t place = (static_cast<uint64_t>(row) * args.shape.heads + head) * n + element;
  static_cast<uint32_t*>(at(args.out))[place / 2] = args.out_dtype == DType::f16 ? Pair<__half>::pack(out.x, out.y) : Pair<__nv_bfloat16>::pack(out.x, out.y);
}

using Kernel = void (*)(const AttentionArgs);

template <class T>
Kernel kernel_for(uint32_t head_dim) {
  return head_dim <= 64 ? attention_kernel<T, 1> : head_dim <= 128 ? attention_kernel<T, 2> : attention_kernel<T, 4>;
}

}  // namespace

Status attention(const AttentionArgs& args, Stream& stream) {
  const uint32_t n = args.shape.head_dim;
  if (n == 0 || n % 2 != 0 || n > 256) return fail(Code::unsupported, "head_dim is %u; a GPU takes even ones up to 256", n);
  if (args.kv.dtype == DType::f32 || args.out_dtype == DType::f32)
    return fail(Code::unsupported, "attention on a GPU: KV in %s, output in %s", name_of(args.kv.dtype), name_of(args.out_dtype));
  if (args.rows == 0) return {};
  const Kernel kernel = args.kv.dtype == DType::f16 ? kernel_for<__half>(n) : kernel_for<__nv_bfloat16>(n);
  return launch(cuda_stream(stream), "attention", kernel, Shape{dim3(args.rows, args.shape.heads), dim3(kThreads)}, args);
}

Status prepare_attention() {
  for (const uint32_t head_dim : {64u, 128u, 256u}) {
    TDL_TRY(touch("attention", kernel_for<__half>(head_dim)));
    TDL_TRY(touch("attention", kernel_for<__nv_bfloat16>(head_dim)));
  }
  return {};
}

}  // namespace tdl::cuda
