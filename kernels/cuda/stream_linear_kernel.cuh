// The kernel of stream_linear.  A block owns groups of kTiles tiles of 16 weight rows; its warps share the depth: chunk c of 64 goes
// to warp c % 8, whose ring in shared memory holds the weights of the next chunks.  The ring is filled before the wait for the
// predecessor, so that memory keeps streaming from one kernel to the next.
//
// Weights are the mma's rows, x its columns (n = 8 per kN).  A dot product may run over the depth in any order as long as both sides
// keep it, so a lane takes 16 bytes in a row, of W and of x alike, and needs neither ldmatrix nor a transposition.
#pragma once
#include "kernels/cuda/element.cuh"
#include "kernels/step_args.h"

namespace tdl::cuda {

inline constexpr uint32_t kStreamWarps = 8, kStreamThreads = 32 * kStreamWarps;
inline constexpr uint32_t kChunk = 64;  // of depth: 128 bytes of a row, in 8 parts of 16

struct StreamParameters {
  const void* weight;  // [out, in]
  uint32_t out, in;
  uint32_t tile_rows;  // rows that tiles are counted over: out, or out / 2 with silu_mul (gate and up tiles in turn)
  const void* x;
  const float *hidden, *norm, *bias;
  void* result;
  bool f16_result;  // of silu_mul
  const PassHeader* header;
  const int32_t* output_row;
  int32_t* row_status;
  float eps;
  uint32_t rows, groups;
  uint32_t finish;  // Finish
};

template <uint32_t kTiles, uint32_t kN, uint32_t kStages>
struct StreamShared {
  static constexpr uint32_t kStageBytes = kTiles * 16 * kChunk * 2;
  static constexpr uint32_t kRingBytes = kStreamWarps * kStages * kStageBytes;
  static constexpr uint32_t kSums = kTiles * kN * 32;  // of a warp, 16 bytes each
  static constexpr uint32_t kBytes = kRingBytes + kStreamWarps * (kSums * 16 + kN * 8 * 4);
};

// Part `part` (16 bytes) of row `row` of a stage.  Rows of equal number modulo 8 share banks; the shift by the row keeps a quarter
// warp, which reads four parts of two rows that differ by 4, in different ones.
__device__ __forceinline__ uint32_t stage_offset(uint32_t row, uint32_t part) { return row * (kChunk * 2) + ((part ^ (row & 7)) << 4); }

// The row of a tile that is row `g` (below 8) of the mma's.
__device__ __forceinline__ uint32_t tile_row(uint32_t g) { return (g >> 1) + (g & 1) * 4; }

// Row of W that row `row` of the group's stage holds.
__device__ __forceinline__ uint32_t weight_row(const StreamParameters& p, uint32_t tile, uint32_t row, bool paired) {
  const uint32_t unit = paired ? tile >> 1 : tile;
  const uint32_t at = min(unit * 16 + row, p.tile_rows - 1);  // past the end: any row, its sums are dropped
  return paired && (tile & 1) ? p.tile_rows + at : at;
}

template <class T>
__device__ __forceinline__ T result_of(float value) { return from_float<T>(value); }

__device__ __forceinline__ bool is_finite(float value) { return (__float_as_uint(value) & 0x7F800000u) != 0x7F800000u; }

// One sum of row `row` (of x), for row `out` of W or, with silu_mul, the pair of it.
__device__ __forceinline__ void finish_one(const StreamParameters& p, uint32_t finish, uint32_t row, uint32_t out, float sum, float up) {
  const uint64_t at = static_cast<uint64_t>(row) * p.tile_rows + out;
  if (finish == 2) {
    if (p.bias) {
      sum += p.bias[out];
      up += p.bias[p.tile_rows + out];
    }
    const float value = sum / (1.0f + __expf(-sum)) * up;
    if (p.f16_result) static_cast<__half*>(p.result)[at] = from_float<__half>(value);
    else static_cast<__nv_bfloat16*>(p.result)[at] = from_float<__nv_bfloat16>(value);
    return;
  }
  auto* result = static_cast<float*>(p.result) + at;
  if (p.bias) sum += p.bias[out];
  if (finish == 1) sum += *result;
  if (finish == 3) {
    if (p.output_row[row] < 0) sum = 0;
    else if (!is_finite(sum)) p.row_status[row] = -18;  // Code::numeric; whoever writes here writes this
  }
  *result = sum;
}

// x of one chunk as it was read, and as the mma takes it.
template <class T, bool kNorm, uint32_t kN>
struct ChunkOfX {
  float4 hidden[kNorm ? kN * 4 : 1], norm[kNorm ? 4 : 1];
  uint4 operand[kNorm ? 1 : kN * 2];

  __device__ __forceinline__ void read(const StreamParameters& p, uint32_t chunk, uint32_t g, uint32_t t, uint32_t live) {
#pragma unroll
    for (uint32_t step = 0; step < 2; ++step) {
      const uint32_t k = chunk * kChunk + step * 32 + t * 8;
      const bool inside = k < p.in;
      if constexpr (kNorm) {
        const auto* weight = reinterpret_cast<const float4*>(p.norm + k);
        norm[step * 2] = inside ? __ldg(weight) : float4{};
        norm[step * 2 + 1] = inside ? __ldg(weight + 1) : float4{};
      }
#pragma unroll
      for (uint32_t n = 0; n < kN; ++n) {
        const uint32_t row = n * 8 + g;
        const bool there = inside && row < live;
        if constexpr (kNorm) {
          const auto* from = reinterpret_cast<const float4*>(p.hidden + static_cast<uint64_t>(row) * p.in + k);
          hidden[n * 4 + step * 2] = there ? __ldcg(from) : float4{};
          hidden[n * 4 + step * 2 + 1] = there ? __ldcg(from + 1) : float4{};
        } else {
          const auto* from = reinterpret_cast<const uint4*>(static_cast<const T*>(p.x) + static_cast<uint64_t>(row) * p.in + k);
          operand[n * 2 + step] = there ? __ldcg(from) : uint4{};
        }
      }
    }
  }
  // Eight elements of row n * 8 + g; adds their squares to `squares`.
  __device__ __forceinline__ uint4 take(uint32_t n, uint32_t step, float& squares) const {
    if constexpr (!kNorm) {
      return operand[n * 2 + step];
    } else {
      const float4 a = hidden[n * 4 + step * 2], b = hidden[n * 4 + step * 2 + 1], v = norm[step * 2], w = norm[step * 2 + 1];
      squares += a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w + b.x * b.x + b.y * b.y + b.z * b.z + b.w * b.w;
      return {Pair<T>::pack(a.x * v.x, a.y * v.y), Pair<T>::pack(a.z * v.z, a.w * v.w), Pair<T>::pack(b.x * w.x, b.y * w.y), Pair<T>::pack(b.z * w.z, b.w * w.w)};
    }
  }
};

template <class T, bool kNorm, uint32_t kTiles, uint32_t kN, uint32_t kStages>
__global__ void __launch_bounds__(kStreamThreads, 1) stream_linear_kernel(const StreamParameters p) {
  using Shared = StreamShared<kTiles, kN, kStages>;
  extern __shared__ __align__(128) unsigned char shared[];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const bool paired = p.finish == 2;
  unsigned char* ring = shared + warp * kStages * Shared::kStageBytes;
  auto* sums = reinterpret_cast<float4*>(shared + Shared::kRingBytes);                                    // [warp][kSums]
  auto* squares_of = reinterpret_cast<float*>(sums + kStreamWarps * Shared::kSums);                       // [warp][kN * 8]
  const uint32_t chunks = (p.in + kChunk - 1) / kChunk, own = chunks > warp ? (chunks - warp + kStreamWarps - 1) / kStreamWarps : 0;

  // The next chunk to ask for: (group, index among the warp's own chunks).
  uint32_t ask_group = blockIdx.x, ask = 0, ask_stage = 0;
  const auto fill = [&] {
    if (own > 0 && ask_group < p.groups) {
      const uint32_t part = lane % 8, k = (warp + ask * kStreamWarps) * kChunk + part * 8;
      unsigned char* stage = ring + ask_stage * Shared::kStageBytes;
#pragma unroll
      for (uint32_t i = 0; i < kTiles * 4; ++i) {
        const uint32_t row = i * 4 + lane / 8;
        const uint64_t from = static_cast<uint64_t>(weight_row(p, ask_group * kTiles + row / 16, row % 16, paired)) * p.in + k;
        copy_async_16(stage + stage_offset(row, part), static_cast<const T*>(p.weight) + (k < p.in ? from : 0), k < p.in ? 16 : 0);
      }
      if (++ask == own) {
        ask = 0;
        ask_group += gridDim.x;
      }
      ask_stage = ask_stage + 1 == kStages ? 0 : ask_stage + 1;
    }
    commit_copies();  // empty at the end: the count of groups stays what wait_copies expects
  };
  for (uint32_t i = 0; i + 1 < kStages; ++i) fill();

  wait_for_predecessors();
  let_successor_start();
  const uint32_t live = p.header ? min(p.rows, p.header->num_rows) : p.rows;

  uint32_t stage_index = 0;
  for (uint32_t group = blockIdx.x; group < p.groups; group += gridDim.x) {
    float sum[kTiles][kN][4] = {};
    float squares[kN] = {};
    ChunkOfX<T, kNorm, kN> next;
    if (own > 0) next.read(p, warp, g, t, live);
    for (uint32_t c = 0; c < own; ++c) {
      const ChunkOfX<T, kNorm, kN> x = next;
      if (c + 1 < own) next.read(p, warp + (c + 1) * kStreamWarps, g, t, live);
      wait_copies<kStages - 2>();
      __syncwarp();  // the stage is there for every lane, and every lane is done with the one that is filled now
      fill();
      const unsigned char* stage = ring + stage_index * Shared::kStageBytes;
      stage_index = stage_index + 1 == kStages ? 0 : stage_index + 1;
#pragma unroll
      for (uint32_t step = 0; step < 2; ++step) {
        uint4 columns[kN];
#pragma unroll
        for (uint32_t n = 0; n < kN; ++n) columns[n] = x.take(n, step, squares[n]);
#pragma unroll
        for (uint32_t tile = 0; tile < kTiles; ++tile) {
          const uint32_t row = tile * 16 + tile_row(g), part = step * 4 + t;
          const uint4 low = *reinterpret_cast<const uint4*>(stage + stage_offset(row, part));
          const uint4 high = *reinterpret_cast<const uint4*>(stage + stage_offset(row + 8, part));
#pragma unroll
          for (uint32_t n = 0; n < kN; ++n) {
            mma<T>(sum[tile][n], {low.x, high.x, low.y, high.y}, {columns[n].x, columns[n].y});
            mma<T>(sum[tile][n], {low.z, high.z, low.w, high.w}, {columns[n].z, columns[n].w});
          }
        }
      }
    }

    // The warps' sums, added in warp order.
#pragma unroll
    for (uint32_t tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (uint32_t n = 0; n < kN; ++n)
        sums[warp * Shared::kSums + (tile * kN + n) * 32 + lane] = {sum[tile][n][0], sum[tile][n][1], sum[tile][n][2], sum[tile][n][3]};
    if constexpr (kNorm) {
#pragma unroll
      for (uint32_t n = 0; n < kN; ++n) {
        squares[n] += __shfl_xor_sync(0xFFFFFFFFu, squares[n], 1);
        squares[n] += __shfl_xor_sync(0xFFFFFFFFu, squares[n], 2);
        if (t == 0) squares_of[warp * kN * 8 + n * 8 + g] = squares[n];
      }
    }
    __syncthreads();
    const auto total = [&](uint32_t index) {
      float4 result = sums[index];
#pragma unroll
      for (uint32_t w = 1; w < kStreamWarps; ++w) {
        const float4 more = sums[w * Shared::kSums + index];
        result = {result.x + more.x, result.y + more.y, result.z + more.z, result.w + more.w};
      }
      return result;
    };
    const uint32_t units = paired ? kTiles / 2 : kTiles;
    for (uint32_t item = threadIdx.x; item < units * kN * 32; item += kStreamThreads) {
      const uint32_t unit = item / (kN * 32), n = item / 32 % kN, place = item % 32;
      const float4 first = total(((paired ? unit * 2 : unit) * kN + n) * 32 + place);
      const float4 second = paired ? total(((unit * 2 + 1) * kN + n) * 32 + place) : float4{};
#pragma unroll
      for (uint32_t e = 0; e < 4; ++e) {
        const uint32_t row = n * 8 + place % 4 * 2 + e % 2;
        const uint32_t out = (group * units + unit) * 16 + tile_row(place / 4) + (e / 2) * 8;
        if (row >= live || out >= p.tile_rows) continue;
        float scale = 1;
        if constexpr (kNorm) {
          float all = squares_of[row];
#pragma unroll
          for (uint32_t w = 1; w < kStreamWarps; ++w) all += squares_of[w * kN * 8 + row];
          scale = rsqrtf(all / static_cast<float>(p.in) + p.eps);
        }
        const float a = e == 0 ? first.x : e == 1 ? first.y : e == 2 ? first.z : first.w;
        const float b = e == 0 ? second.x : e == 1 ? second.y : e == 2 ? second.z : second.w;
        finish_one(p, p.finish, row, out, a * scale, b * scale);
      }
    }
    __syncthreads();
  }
}

}  // namespace tdl::cuda
