// The inner loops of products, in pieces of a row's elements.  A dot product is, for each piece in order, the sum of its lanes; so its bits
// are the same in whichever tile it is computed.
#pragma once
#include <type_traits>

#include "kernels/host/isa/inner.h"
#include "kernels/host/isa/vectors.h"

namespace tdl::host {
namespace {

constexpr uint32_t kPiece = 512;  // elements at most: what a tile reads of one piece stays in 32 KB of level 1 cache

// Four rows of weights by six rows of x fill 32 registers with the operands beside them; 16 registers hold four by three.
constexpr bool kManyRegisters = HWY_MAX_BYTES >= 64 || HWY_ARCH_ARM_A64;
constexpr uint32_t kTileOuts = 4, kTileRows = kManyRegisters ? 6 : 3;

// Operands of a tile: the vector at element i of row o; `some` may be cut short by the end n, and is filled up with zeros.
template <class T>
struct Strided {
  const T* at;
  uint64_t stride;  // elements from row to row
  HWY_INLINE V full(uint32_t o, uint32_t i) const { return load(at + o * stride + i); }
  HWY_INLINE V some(uint32_t o, uint32_t i, uint32_t n) const { return load_some(at + o * stride + i, at_most(kLanes, n - i)); }
};
struct Scattered {
  const float* const* at;
  uint32_t begin;
  HWY_INLINE V full(uint32_t r, uint32_t i) const { return load(at[r] + begin + i); }
  HWY_INLINE V some(uint32_t r, uint32_t i, uint32_t n) const { return load_some(at[r] + begin + i, at_most(kLanes, n - i)); }
};
// Vectors of kRows rows by turns, the last ones filled up with zeros: one stream for the prefetcher, and no two rows in the same cache set.
template <uint32_t kRows>
struct Packed {
  const float* at;
  HWY_INLINE V full(uint32_t r, uint32_t i) const { return hn::LoadU(d, at + i * kRows + r * kLanes); }
  HWY_INLINE V some(uint32_t r, uint32_t i, uint32_t) const { return full(r, i); }
};

// Called with every step of a tile: nothing, or a prefetch of so many bytes a step into level 2.
struct NoPrefetch {
  HWY_INLINE void operator()(uint32_t) const {}
};
template <uint32_t kStep>
struct Prefetch {
  const char* at;
  HWY_INLINE void operator()(uint32_t step) const {
    constexpr uint32_t kLine = 64;
    if constexpr (kStep >= kLine) {
      for (uint32_t k = 0; k < kStep; k += kLine) __builtin_prefetch(at + uint64_t{step} * kStep + k, 0, 2);
    } else {
      if (step % (kLine / kStep) == 0) __builtin_prefetch(at + uint64_t{step} * kStep, 0, 2);
    }
  }
};

// sums[r * stride + o] = (from zero when first, else added to it) w row o . x row r, o < kO, over n <= kPiece elements.
template <uint32_t kO, uint32_t kR, class Outs, class Rows, class Ahead = NoPrefetch>
HWY_INLINE void tile(const Outs& w, const Rows& x, uint32_t n, bool first, float* sums, uint32_t stride, const Ahead& ahead = {}) {
  V acc[kR][kTileOuts];
  for (uint32_t r = 0; r < kR; ++r)
    for (uint32_t o = 0; o < kTileOuts; ++o) acc[r][o] = hn::Zero(d);
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    ahead(i / kLanes);
    if constexpr (kO <= kR) {  // the smaller side is held in registers
      V held[kO];
      for (uint32_t o = 0; o < kO; ++o) held[o] = w.full(o, i);
      for (uint32_t r = 0; r < kR; ++r) {
        const V row = x.full(r, i);
        for (uint32_t o = 0; o < kO; ++o) acc[r][o] = hn::MulAdd(held[o], row, acc[r][o]);
      }
    } else {
      V held[kR];
      for (uint32_t r = 0; r < kR; ++r) held[r] = x.full(r, i);
      for (uint32_t o = 0; o < kO; ++o) {
        const V out = w.full(o, i);
        for (uint32_t r = 0; r < kR; ++r) acc[r][o] = hn::MulAdd(out, held[r], acc[r][o]);
      }
    }
  }
  if (i < n) {
    for (uint32_t o = 0; o < kO; ++o) {
      const V out = w.some(o, i, n);
      for (uint32_t r = 0; r < kR; ++r) acc[r][o] = hn::MulAdd(out, x.some(r, i, n), acc[r][o]);
    }
  }
  for (uint32_t r = 0; r < kR; ++r) {
    float folded[kTileOuts];
    sums_of(acc[r], folded);
    float* to = sums + r * stride;
    for (uint32_t o = 0; o < kO; ++o) to[o] = first ? folded[o] : to[o] + folded[o];
  }
}

// f(the constant count) for a count in 1..kMost.
template <uint32_t kMost, class F>
HWY_INLINE void with_count(uint32_t count, const F& f) {
  if constexpr (kMost > 1) {
    if (count < kMost) return with_count<kMost - 1>(count, f);
  }
  f(std::integral_constant<uint32_t, kMost>());
}

// Rows of x in tiles of equal height.
template <uint32_t kO, class Outs, class Ahead = NoPrefetch>
HWY_INLINE void tiles_of_rows(const Outs& w, const float* const* x, uint32_t begin, uint32_t rows, uint32_t n, bool first, float* sums, uint32_t stride,
                              const Ahead& ahead = {}) {
  for (uint32_t tiles = (rows + kTileRows - 1) / kTileRows, r = 0; tiles > 0; --tiles) {
    const uint32_t height = (rows - r + tiles - 1) / tiles;
    with_count<kTileRows>(height, [&](auto count) {
      const Scattered part{x + r, begin};
      if (r == 0) tile<kO, count.value>(w, part, n, first, sums + r * stride, stride, ahead);
      else tile<kO, count.value>(w, part, n, first, sums + r * stride, stride);
    });
    r += height;
  }
}

// Few rows: weights are read as stored, from memory once; the tiles after the first find them in the cache.  While one group of weight
// rows is used, the next is fetched, front to back: memory is faster at one stream than at four.
template <class T>
HWY_NOINLINE void product_of_few_rows(const BlockProduct& b) {
  const T* weight = static_cast<const T*>(b.weight);
  uint32_t o = 0;
  for (; o + kTileOuts <= b.outs; o += kTileOuts) {
    const bool more = o + 2 * kTileOuts <= b.outs;
    const T* group = weight + uint64_t{o} * b.in;
    for (uint32_t begin = 0; begin < b.in; begin += kPiece) {
      const Strided<T> w{group + begin, b.in};
      const uint32_t n = at_most(kPiece, b.in - begin);
      const Prefetch<kTileOuts * kLanes * sizeof(T)> ahead{reinterpret_cast<const char*>(group + uint64_t{kTileOuts} * (b.in + begin))};
      if (more) tiles_of_rows<kTileOuts>(w, b.x, begin, b.rows, n, begin == 0, b.sums + o, kBlockOuts, ahead);
      else tiles_of_rows<kTileOuts>(w, b.x, begin, b.rows, n, begin == 0, b.sums + o, kBlockOuts);
    }
  }
  for (; o < b.outs; ++o) {
    for (uint32_t begin = 0; begin < b.in; begin += kPiece) {
      const Strided<T> w{weight + uint64_t{o} * b.in + begin, b.in};
      tiles_of_rows<1>(w, b.x, begin, b.rows, at_most(kPiece, b.in - begin), begin == 0, b.sums + o, kBlockOuts);
    }
  }
}

// One row: weights are read front to back, four pieces under way at a time since one sum waits for each addition to end; of long rows
// in slabs, so that x stays in level 1 cache.
template <class T>
HWY_NOINLINE void product_of_one_row(const BlockProduct& b) {
  constexpr uint32_t kPieces = 4, kSlab = 8 * kPiece;
  const float* x = b.x[0];
  // Fetched so many elements ahead: the same place of a later row, 8 KB or more away.
  const uint64_t row_bytes = b.in * sizeof(T), ahead_by = (row_bytes < 8192 ? (8192 + row_bytes - 1) / row_bytes : 1) * b.in;
  for (uint32_t slab = 0; slab < b.in; slab += kSlab) {
    const T* w = static_cast<const T*>(b.weight);
    for (uint32_t o = 0; o < b.outs; ++o, w += b.in) {
      const uint32_t end = at_most(slab + kSlab, b.in);
      uint32_t begin = slab;
      for (; begin + kPieces * kPiece <= end; begin += kPieces * kPiece) {
        const Prefetch<kPieces * kLanes * sizeof(T)> ahead{reinterpret_cast<const char*>(w + ahead_by + begin)};
        V acc[kPieces] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
        for (uint32_t i = 0; i < kPiece; i += kLanes) {
          ahead(i / kLanes);
          for (uint32_t p = 0; p < kPieces; ++p) {
            const uint32_t at = begin + p * kPiece + i;
            acc[p] = hn::MulAdd(load(w + at), load(x + at), acc[p]);
          }
        }
        float folded[kPieces];
        sums_of(acc, folded);
        for (uint32_t p = 0; p < kPieces; ++p) b.sums[o] = begin + p == 0 ? folded[p] : b.sums[o] + folded[p];
      }
      for (; begin < end; begin += kPiece)
        tile<1, 1>(Strided<T>{w + begin, b.in}, Scattered{b.x, begin}, at_most(kPiece, end - begin), begin == 0, b.sums + o, kBlockOuts);
    }
  }
}

// `rows` <= kMost rows of n elements by turns into `to`, which Packed<rows> reads.
template <uint32_t kMost, class Rows>
HWY_INLINE void pack(const Rows& from, uint32_t rows, uint32_t n, float* to) {
  with_count<kMost>(rows, [&](auto count) {
    uint32_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (uint32_t r = 0; r < count.value; ++r) hn::StoreU(from.full(r, i), d, to + i * count.value + r * kLanes);
    for (uint32_t r = 0; i < n && r < count.value; ++r) hn::StoreU(from.some(r, i, n), d, to + i * count.value + r * kLanes);
  });
}

// A few weight rows, packed, by all rows of x, packed.
template <uint32_t kO>
HWY_INLINE void tiles_of_panels(const float* wide, const float* panels, uint32_t rows, uint32_t n, bool first, float* sums) {
  for (uint32_t r = 0; r < rows; r += kTileRows) {
    const float* panel = panels + r * kPiece;
    with_count<kTileRows>(at_most(kTileRows, rows - r), [&](auto count) {
      tile<kO, count.value>(Packed<kO>{wide}, Packed<count.value>{panel}, n, first, sums + r * kBlockOuts, kBlockOuts);
    });
  }
}

// Many rows: a piece of all of them is packed once, of the weights when their turn comes (200 KB of stack).
template <class T>
HWY_NOINLINE void product_of_many_rows(const BlockProduct& b) {
  alignas(64) float panels[kBlockRows * kPiece];
  alignas(64) float wide[kTileOuts * kPiece];
  const T* weight = static_cast<const T*>(b.weight);
  for (uint32_t begin = 0; begin < b.in; begin += kPiece) {
    const uint32_t n = at_most(kPiece, b.in - begin);
    for (uint32_t r = 0; r < b.rows; r += kTileRows) pack<kTileRows>(Scattered{b.x + r, begin}, at_most(kTileRows, b.rows - r), n, panels + r * kPiece);
    for (uint32_t o = 0; o < b.outs;) {
      const Strided<T> w{weight + uint64_t{o} * b.in + begin, b.in};
      const uint32_t outs = b.outs - o >= kTileOuts ? kTileOuts : 1;
      pack<kTileOuts>(w, outs, n, wide);
      if (outs == kTileOuts) tiles_of_panels<kTileOuts>(wide, panels, b.rows, n, begin == 0, b.sums + o);
      else tiles_of_panels<1>(wide, panels, b.rows, n, begin == 0, b.sums + o);
      o += outs;
    }
  }
}

template <class T>
HWY_INLINE void product_of(const BlockProduct& b) {
  if (b.rows == 1) product_of_one_row<T>(b);
  else if (b.rows <= kFewRows) product_of_few_rows<T>(b);
  else product_of_many_rows<T>(b);
}

void block_product(const BlockProduct& b) {
  switch (b.dtype) {
    case DType::f32: return product_of<float>(b);
    case DType::bf16: return product_of<Bf16>(b);
    case DType::f16: return product_of<F16>(b);
  }
}

}  // namespace
}  // namespace tdl::host
