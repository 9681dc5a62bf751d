// Products with a stored weight matrix, in blocks on all threads.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/host/op.h"
#include "kernels/host/pool.h"
#include "kernels/stages.h"

namespace tdl::host {

// How a product is cut into items.  Few rows read every weight once: narrow blocks keep all threads busy to the end.  Many rows use a
// block of weights again and again, and wide blocks their rows; narrower ones only where the threads would run out of items.
struct Blocks {
  uint32_t outs, rows;  // of one item, at most
  uint32_t out_blocks, row_blocks;

  Blocks(uint32_t all_outs, uint32_t all_rows, uint32_t threads) : outs(kBlockOuts), rows(kFewRows), row_blocks(1) {
    if (all_rows > kFewRows) {
      row_blocks = (all_rows + kBlockRows - 1) / kBlockRows;
      const uint32_t even = (all_rows + row_blocks - 1) / row_blocks;
      rows = std::min(kBlockRows, (even + kRowStep - 1) / kRowStep * kRowStep);
      row_blocks = (all_rows + rows - 1) / rows;
      while (outs > 32 && uint64_t{(all_outs + outs - 1) / outs} * row_blocks < 8u * threads) outs /= 2;
    } else {
      outs = all_outs >= 512u * threads ? 32 : 16;
    }
    out_blocks = (all_outs + outs - 1) / outs;
  }

 private:
  static constexpr uint32_t kRowStep = 6;  // the inner loops take rows by six
};

// x . W^T over the vectors row_of(0) .. row_of(rows - 1): done(row, first, outs, sums of the row's block) for each block.
template <class RowOf, class Done>
void product(const Matrix& weight, uint32_t rows, Pool& pool, const RowOf& row_of, const Done& done) {
  const Blocks blocks(weight.out, rows, pool.threads());
  const uint64_t row_bytes = uint64_t{weight.in} * size_of(weight.dtype);
  pool.for_each(blocks.out_blocks * blocks.row_blocks, [&](uint32_t item) {
    // Neighbouring items share a block of weights.
    const uint32_t first = item / blocks.row_blocks * blocks.outs, outs = std::min(blocks.outs, weight.out - first);
    const uint32_t begin = item % blocks.row_blocks * blocks.rows, count = std::min(blocks.rows, rows - begin);
    const float* x[kBlockRows];
    for (uint32_t r = 0; r < count; ++r) x[r] = row_of(begin + r);
    float sums[kBlockRows * kBlockOuts];
    pool.loops().block_product({static_cast<const std::byte*>(at(weight.data)) + first * row_bytes, x, sums, weight.dtype, weight.in, outs, count});
    for (uint32_t r = 0; r < count; ++r) done(begin + r, first, outs, sums + r * kBlockOuts);
  });
}

}  // namespace tdl::host
