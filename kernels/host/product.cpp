#include "kernels/host/product.h"

#include <type_traits>

#include "kernels/host/dot.h"
#include "kernels/host/op.h"

namespace tdl::host {
namespace {

// Elements of a weight row that are widened at a time: 8 KB, so that they and the rows' own pieces stay in the nearest caches.
constexpr uint32_t kDepth = 2048;
static_assert(kDepth % kLanes == 0);

template <class T>
void sums_of(const T* weight /* [outs, in] */, uint32_t in, uint32_t outs, const float* const* x, uint32_t rows, BlockSums& sums) {
  if (rows == 1) {
    for (uint32_t i = 0; i < outs; ++i) sums[0][i] = dot(weight + uint64_t{i} * in, x[0], in);
    return;
  }
  float lanes[kBlockOuts][kTileRows][kLanes] = {};
  float wide[kDepth];
  for (uint32_t begin = 0; begin < in; begin += kDepth) {
    const uint32_t depth = std::min(kDepth, in - begin);
    for (uint32_t i = 0; i < outs; ++i) {
      const T* stored = weight + uint64_t{i} * in + begin;
      const float* piece = wide;
      if constexpr (std::is_same_v<T, float>) piece = stored;
      else widen_row(stored, depth, wide);
      for (uint32_t r = 0; r < rows; ++r) accumulate(lanes[i][r], piece, x[r] + begin, depth);
    }
  }
  for (uint32_t i = 0; i < outs; ++i)
    for (uint32_t r = 0; r < rows; ++r) sums[r][i] = fold_lanes(lanes[i][r]);
}

}  // namespace

void block_product(const Matrix& weight, uint32_t first, uint32_t outs, const float* const* x, uint32_t rows,
                   BlockSums& sums) noexcept {
  const uint64_t offset = uint64_t{first} * weight.in;
  switch (weight.dtype) {
    case DType::f32: return sums_of(static_cast<const float*>(at(weight.data)) + offset, weight.in, outs, x, rows, sums);
    case DType::bf16: return sums_of(static_cast<const Bf16*>(at(weight.data)) + offset, weight.in, outs, x, rows, sums);
    case DType::f16: return sums_of(static_cast<const F16*>(at(weight.data)) + offset, weight.in, outs, x, rows, sums);
  }
}

}  // namespace tdl::host
