// Tiles of q, K and V in shared memory, and as the mma's fragments.  A row of a tile is head_dim elements and 16 bytes of padding:
// head_dim / 8 is even, so rows are an odd number of 16-byte units apart and the eight rows of an ldmatrix lie in different banks.
#pragma once
#include "kernels/cuda/attention_rows.cuh"

namespace tdl::cuda {

template <uint32_t kHeadDim>
inline constexpr uint32_t kTileStride = kHeadDim + 8;  // elements

// The address of the row that a lane names in ldmatrix, for the 16 x 16 elements from `tile` on.  `rows_first`: matrices 0 and 1 are
// the upper and the lower eight rows, else the left and the right eight columns.
template <uint32_t kHeadDim>
__device__ __forceinline__ uint32_t fragment_offset(uint32_t lane, bool rows_first) {
  const uint32_t first = lane & 8, second = (lane & 16) >> 1;
  const uint32_t row = (lane & 7) + (rows_first ? first : second), column = rows_first ? second : first;
  return (row * kTileStride<kHeadDim> + column) * 2;
}

// Four 8 x 8 matrices.  q: offset rows_first, gives the mma's a.  K, whose rows are positions: offset columns first, gives the b of
// positions 0-7 (registers 0, 1) and 8-15 (2, 3).
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}
// The same, transposed.  V: offset rows_first, gives the b of columns 0-7 (registers 0, 1) and 8-15 (2, 3).
__device__ __forceinline__ void load_transposed(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}

// 2^x; 0 for -inf.
__device__ __forceinline__ float exp2_of(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
inline constexpr float kLog2E = 1.44269504088896340736f;
__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xFF800000); }
// What to subtract from scores whose largest is `top`: where there is none, exp2 must give 0 and not a NaN.
__device__ __forceinline__ float base_of(float top) { return top == minus_infinity() ? 0.0f : top; }

// The largest and the sum over the four lanes that share a row of an mma's result.
__device__ __forceinline__ float row_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, 2));
}
__device__ __forceinline__ float row_sum(float value) {
  value += __shfl_xor_sync(0xFFFFFFFFu, value, 1);
  return value + __shfl_xor_sync(0xFFFFFFFFu, value, 2);
}

// One KV head of one layer.
template <class T, uint32_t kHeadDim>
__device__ __forceinline__ const T* group_of(const AttentionArgs& args, uint32_t block_shift, int32_t block, uint32_t kv_head, uint32_t part, uint32_t position) {
  const uint64_t head = (static_cast<uint64_t>(static_cast<uint32_t>(block)) * args.shape.kv_heads + kv_head) * 2 + part;
  return static_cast<const T*>(at(args.kv.data)) + ((head << block_shift) + (position & ((1u << block_shift) - 1))) * kHeadDim;
}

// A warp copies the kGroup positions from `first` on, a multiple of kGroup, which lie together at `from`; those outside [begin, end)
// become zeros and are not read.
template <class T, uint32_t kHeadDim>
__device__ __forceinline__ void copy_group(unsigned char* to, const T* from, uint32_t first, uint32_t begin, uint32_t end, uint32_t lane) {
  constexpr uint32_t kParts = kHeadDim / 8;  // of 16 bytes, in a row
  static_assert(kGroup * kParts % 32 == 0);
#pragma unroll
  for (uint32_t i = 0; i < kGroup * kParts / 32; ++i) {
    const uint32_t piece = i * 32 + lane, row = piece / kParts, part = piece % kParts, position = first + row;
    copy_async_16(to + row * (kTileStride<kHeadDim> * 2) + part * 16, from + piece * 8, position >= begin && position < end ? 16 : 0);
  }
}

// Two neighbouring elements of an output row.
__device__ __forceinline__ void store_pair(const AttentionArgs& args, uint32_t row, uint32_t head, uint32_t column, float low, float high) {
  const uint64_t element = (static_cast<uint64_t>(row) * args.shape.heads + head) * args.shape.head_dim + column;
  static_cast<uint32_t*>(at(args.out))[element / 2] =
      args.out_dtype == DType::f16 ? Pair<__half>::pack(low, high) : Pair<__nv_bfloat16>::pack(low, high);
}

}  // namespace tdl::cuda
