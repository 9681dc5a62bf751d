// Which KV positions a row sees, and finding one's own work in a pass whose lengths only the device knows.
#pragma once
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/stages.h"

namespace tdl::cuda {

inline constexpr uint32_t kAttentionWarps = 4, kAttentionThreads = 32 * kAttentionWarps;
inline constexpr uint32_t kGroup = 16;  // positions that are copied together; a block holds whole groups

// The header, read once.
struct Live {
  uint32_t rows, seqs, stride, chunks;
  __device__ explicit Live(const AttentionArgs& args) {
    const PassHeader* header = at(args.header);
    rows = min(args.rows, header->num_rows);
    seqs = header->num_seqs;
    stride = header->table_stride;
    chunks = header->num_chunks;
  }
};

// KV positions [begin, end) of sequence `seq`; empty when the row reads nothing.
struct Visible {
  uint32_t seq, begin, end;
  __device__ uint32_t first_chunk() const { return begin / kAttentionChunk; }
  __device__ uint32_t end_chunk() const { return (end + kAttentionChunk - 1) / kAttentionChunk; }
  __device__ uint32_t chunks() const { return begin < end ? end_chunk() - first_chunk() : 0; }
  __device__ bool shows(uint32_t position) const { return position >= begin && position < end; }
};

__device__ __forceinline__ Visible visible_to(const AttentionArgs& args, const Live& live, uint32_t row) {
  uint32_t seq = 0, first = 0, rows = live.rows;  // of the row's sequence
  if (args.rows_per_seq > 0) {
    rows = args.rows_per_seq;
    seq = row / rows;
    first = seq * rows;
  } else if (const uint32_t* start = at(args.meta.query_start)) {
    uint32_t end = live.seqs;  // the last sequence in [seq, end) that starts at the row or before
    while (end - seq > 1) {
      const uint32_t middle = (seq + end) / 2;
      if (start[middle] <= row) seq = middle;
      else end = middle;
    }
    first = start[seq];
    rows = start[seq + 1] - first;
  }
  const int64_t end = static_cast<int64_t>(at(args.meta.seq_len)[seq]) - rows + (row - first) + 1;
  if (end <= 0) return {seq, 0, 0};
  const int64_t begin = args.window > 0 && end > args.window ? end - args.window : 0;
  return {seq, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

// Elements 0 .. count - 1 with a length each, laid end to end; the block's threads share them out in order.
struct Line {
  struct Shared {
    uint32_t warp_sum[kAttentionWarps], index, before;
  };
  uint32_t begin, end;      // this thread's elements
  uint32_t before, length;  // of what lies before them, and of them
  uint32_t total;

  template <class Length>
  __device__ Line(Shared& shared, uint32_t count, Length&& length_of) {
    const uint32_t each = (count + kAttentionThreads - 1) / kAttentionThreads, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    begin = min(threadIdx.x * each, count);
    end = min(begin + each, count);
    length = 0;
    for (uint32_t i = begin; i < end; ++i) length += length_of(i);
    uint32_t through = length;  // of the warp's lanes up to this one
#pragma unroll
    for (uint32_t step = 1; step < 32; step *= 2) {
      const uint32_t other = __shfl_up_sync(0xFFFFFFFFu, through, step);
      if (lane >= step) through += other;
    }
    if (lane == 31) shared.warp_sum[warp] = through;
    __syncthreads();
    before = through - length;
    total = 0;
    for (uint32_t w = 0; w < kAttentionWarps; ++w) {
      if (w < warp) before += shared.warp_sum[w];
      total += shared.warp_sum[w];
    }
  }

  // The element that covers place `where` < total, and the length before it: shared.index, shared.before.  For all threads at once.
  template <class Length>
  __device__ void find(Shared& shared, uint32_t where, Length&& length_of) const {
    if (where >= before && where - before < length) {
      uint32_t i = begin, start = before;
      for (uint32_t own = length_of(i); where - start >= own; own = length_of(i)) {
        start += own;
        ++i;
      }
      shared.index = i;
      shared.before = start;
    }
    __syncthreads();
  }
};

}  // namespace tdl::cuda
