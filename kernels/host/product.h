// Products with a stored weight matrix, a block of its rows at a time.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/host/pool.h"
#include "kernels/stages.h"

namespace tdl::host {

inline constexpr uint32_t kBlockOuts = 16;  // weight rows of one work item
inline constexpr uint32_t kTileRows = 32;   // activation rows that a block is used for before the next are taken

// Sums of a block: [row of the tile][weight row of the block].
using BlockSums = float[kTileRows][kBlockOuts];

// sums[r][i] = x[r] . W[first + i] for r < rows <= kTileRows and i < outs <= kBlockOuts.  The bits of a sum depend on its own
// two vectors alone (kernels/host/dot.h).
void block_product(const Matrix& weight, uint32_t first, uint32_t outs, const float* const* x /* [rows] of [in] */, uint32_t rows,
                   BlockSums& sums) noexcept;

// x . W^T over all rows, in blocks on all threads: done(row, first, outs, sums of the row's block) for each.
template <class Done>
void product(const Matrix& weight, const float* x /* [rows, in] */, uint32_t rows, Pool& pool, const Done& done) {
  if (rows == 0) return;
  pool.for_each((weight.out + kBlockOuts - 1) / kBlockOuts, [&](uint32_t block) {
    const uint32_t first = block * kBlockOuts, outs = std::min(kBlockOuts, weight.out - first);
    for (uint32_t begin = 0; begin < rows; begin += kTileRows) {
      const uint32_t count = std::min(kTileRows, rows - begin);
      const float* tile[kTileRows];
      for (uint32_t r = 0; r < count; ++r) tile[r] = x + uint64_t{begin + r} * weight.in;
      BlockSums sums;
      block_product(weight, first, outs, tile, count, sums);
      for (uint32_t r = 0; r < count; ++r) done(begin + r, first, outs, sums[r]);
    }
  });
}

}  // namespace tdl::host
