// The text of the inner loops, included once by the file of each instruction set, whose flags decide what Highway's vectors are.
// Everything here has internal linkage, and no function of the standard library is used that could be emitted on its own: the linker
// would give the copy made for one instruction set to all the others.
#pragma once
#include <hwy/highway.h>
// After highway.h, which it needs.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/host/isa/inner.h"
#include "kernels/step_args.h"

namespace tdl::host {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using U32 = hn::Rebind<uint32_t, D>;
using Half = hn::Rebind<uint16_t, D>;
constexpr uint32_t kLanes = HWY_LANES(float);
constexpr D d;

HWY_INLINE uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }

// ---- stored elements, widened ------------------------------------------------------------------------------------------------

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

HWY_INLINE V load(const float* from) { return hn::LoadU(d, from); }
HWY_INLINE V load(const Bf16* from) {
  const auto bits = hn::PromoteTo(U32(), hn::LoadU(Half(), reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}
// Exponents are moved from base 15 to base 127; infinities, and subnormals ((2^-14 + it) - 2^-14, exactly), are told apart.
HWY_INLINE V load(const F16* from) {
  const U32 u;
  const auto bits = hn::PromoteTo(u, hn::LoadU(Half(), reinterpret_cast<const uint16_t*>(from)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(u, 0x7FFFu)));
  const auto exponent = hn::And(bits, hn::Set(u, 0x7C00u));
  const auto bias = hn::Set(u, 112u << 23);
  const auto infinite = hn::IfThenElseZero(hn::Eq(exponent, hn::Set(u, 0x7C00u)), bias);
  const auto normal = hn::Add(hn::Add(magnitude, bias), infinite);
  const auto raised = hn::BitCast(d, hn::Add(magnitude, hn::Set(u, 113u << 23)));
  const auto subnormal = hn::BitCast(u, hn::Sub(raised, hn::Set(d, 0x1p-14f)));
  const auto value = hn::IfThenElse(hn::Eq(exponent, hn::Zero(u)), subnormal, normal);
  return hn::BitCast(d, hn::Or(value, hn::ShiftLeft<16>(hn::And(bits, hn::Set(u, 0x8000u)))));
}

// The last `count` < kLanes elements of a vector, zeros beside them.
template <class T>
HWY_INLINE V load_tail(const T* from, uint32_t count) {
  T padded[kLanes] = {};
  for (uint32_t i = 0; i < count; ++i) padded[i] = from[i];
  return load(padded);
}

HWY_INLINE float sum_of(V lanes) { return hn::GetLane(hn::SumOfLanes(d, lanes)); }

template <class T>
HWY_INLINE void widen_row(const T* a, uint32_t n, float* out) {
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(load(a + i), d, out + i);
  if (i < n) {
    float padded[kLanes];
    hn::StoreU(load_tail(a + i, n - i), d, padded);
    for (uint32_t k = 0; i + k < n; ++k) out[i + k] = padded[k];
  }
}

// ---- products ------------------------------------------------------------------------------------------------------------------

// Lane sums of kO weight rows by kR activation rows over n elements, kept in registers: from and to `lanes` when the sum goes on in
// another piece (not first, not last), else from zero and to the folded `sums`.
template <uint32_t kO, uint32_t kR, class T>
HWY_INLINE void tile(const T* const* w, const float* const* x, uint32_t n, bool first, bool last, float* lanes, uint32_t lanes_stride, float* const* sums) {
  V acc[kO][kR];
  for (uint32_t o = 0; o < kO; ++o)
    for (uint32_t r = 0; r < kR; ++r) acc[o][r] = first ? hn::Zero(d) : hn::LoadU(d, lanes + (r * lanes_stride + o) * kLanes);
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    V wide[kO];
    for (uint32_t o = 0; o < kO; ++o) wide[o] = load(w[o] + i);
    for (uint32_t r = 0; r < kR; ++r) {
      const V row = load(x[r] + i);
      for (uint32_t o = 0; o < kO; ++o) acc[o][r] = hn::MulAdd(wide[o], row, acc[o][r]);
    }
  }
  if (i < n) {
    for (uint32_t o = 0; o < kO; ++o) {
      const V wide = load_tail(w[o] + i, n - i);
      for (uint32_t r = 0; r < kR; ++r) acc[o][r] = hn::MulAdd(wide, load_tail(x[r] + i, n - i), acc[o][r]);
    }
  }
  for (uint32_t o = 0; o < kO; ++o) {
    for (uint32_t r = 0; r < kR; ++r) {
      if (last) sums[r][o] = sum_of(acc[o][r]);
      else hn::StoreU(acc[o][r], d, lanes + (r * lanes_stride + o) * kLanes);
    }
  }
}

// 4 x 6 tiles fill AVX-512's 32 registers; 16 registers hold 3 x 3 (with the operands beside them).
constexpr uint32_t kTileOuts = HWY_MAX_BYTES >= 64 || HWY_ARCH_ARM_A64 ? 4 : 3;
constexpr uint32_t kTileRows = HWY_MAX_BYTES >= 64 || HWY_ARCH_ARM_A64 ? 6 : 3;

template <uint32_t kO, class T>
HWY_INLINE void tiles_of_rows(const T* const* w, const float* const* x, uint32_t rows, uint32_t n, bool first, bool last, float* lanes, uint32_t lanes_stride,
                              float* const* sums) {
  uint32_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows)
    tile<kO, kTileRows>(w, x + r, n, first, last, lanes + r * lanes_stride * kLanes, lanes_stride, sums + r);
  for (; r + 2 <= rows; r += 2) tile<kO, 2>(w, x + r, n, first, last, lanes + r * lanes_stride * kLanes, lanes_stride, sums + r);
  if (r < rows) tile<kO, 1>(w, x + r, n, first, last, lanes + r * lanes_stride * kLanes, lanes_stride, sums + r);
}

template <class T>
HWY_INLINE void product_piece(const T* weight, uint32_t stride, const BlockProduct& b, uint32_t begin, uint32_t n, bool last, float* lanes) {
  const float* x[kBlockRows];
  float* sums[kBlockRows];
  uint32_t o = 0;
  for (; o < b.outs;) {
    const uint32_t outs = b.outs - o >= kTileOuts ? kTileOuts : 1;
    const T* w[kTileOuts];
    for (uint32_t k = 0; k < outs; ++k) w[k] = weight + uint64_t{o + k} * stride;
    for (uint32_t r = 0; r < b.rows; ++r) {
      x[r] = b.x[r] + begin;
      sums[r] = b.sums + r * kBlockOuts + o;
    }
    float* at = lanes ? lanes + o * kLanes : nullptr;
    if (outs == kTileOuts) tiles_of_rows<kTileOuts>(w, x, b.rows, n, begin == 0, last, at, kBlockOuts, sums);
    else tiles_of_rows<1>(w, x, b.rows, n, begin == 0, last, at, kBlockOuts, sums);
    o += outs;
  }
}

constexpr uint32_t kDepth = 768;  // elements of a weight row that are widened at a time: a multiple of every kLanes

// Few rows: every weight is read once, as stored, and no lane leaves the registers.
template <class T>
HWY_NOINLINE void product_of_few_rows(const BlockProduct& b) {
  product_piece(static_cast<const T*>(b.weight), b.in, b, 0, b.in, true, nullptr);
}

// Many rows: pieces of the block are widened once and used for all rows, with the lanes of all sums kept beside (170 KB of stack).
template <class T>
HWY_NOINLINE void product_of_many_rows(const BlockProduct& b) {
  alignas(64) float wide[kBlockOuts * kDepth];
  alignas(64) float lanes[kBlockRows * kBlockOuts * kLanes];
  const T* weight = static_cast<const T*>(b.weight);
  for (uint32_t begin = 0; begin < b.in; begin += kDepth) {
    const uint32_t n = at_most(kDepth, b.in - begin);
    for (uint32_t o = 0; o < b.outs; ++o) widen_row(weight + uint64_t{o} * b.in + begin, n, wide + o * kDepth);
    product_piece(wide, kDepth, b, begin, n, begin + n == b.in, lanes);
  }
}

template <class T>
HWY_INLINE void product_of(const BlockProduct& b) {
  if (b.rows <= kTileRows) product_of_few_rows<T>(b);
  else product_of_many_rows<T>(b);
}

void block_product(const BlockProduct& b) {
  switch (b.dtype) {
    case DType::f32: return product_of<float>(b);
    case DType::bf16: return product_of<Bf16>(b);
    case DType::f16: return product_of<F16>(b);
  }
}

void widen(const void* a, DType dtype, uint32_t n, float* out) {
  switch (dtype) {
    case DType::f32: return widen_row(static_cast<const float*>(a), n, out);
    case DType::bf16: return widen_row(static_cast<const Bf16*>(a), n, out);
    case DType::f16: return widen_row(static_cast<const F16*>(a), n, out);
  }
}

// ---- rows ----------------------------------------------------------------------------------------------------------------------

// f(i, count) for each vector's worth of n elements; count is kLanes but for the last.
template <class F>
HWY_INLINE void for_vectors(uint32_t n, const F& f) {
  for (uint32_t i = 0; i < n; i += kLanes) f(i, at_most(kLanes, n - i));
}
HWY_INLINE V load_some(const float* from, uint32_t count) { return count == kLanes ? load(from) : load_tail(from, count); }
HWY_INLINE void store_some(V value, float* to, uint32_t count) {
  if (count == kLanes) {
    hn::StoreU(value, d, to);
    return;
  }
  float all[kLanes];
  hn::StoreU(value, d, all);
  for (uint32_t i = 0; i < count; ++i) to[i] = all[i];
}

HWY_INLINE float dot(const float* a, const float* b, uint32_t n) {
  V sum = hn::Zero(d);
  for_vectors(n, [&](uint32_t i, uint32_t count) { sum = hn::MulAdd(load_some(a + i, count), load_some(b + i, count), sum); });
  return sum_of(sum);
}

void rms_norm(const float* x, const float* weight, uint32_t n, float eps, float* out) {
  const float mean = dot(x, x, n) / static_cast<float>(n);
  const V scale = hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Set(d, mean + eps)));
  for_vectors(n, [&](uint32_t i, uint32_t count) {
    store_some(hn::Mul(hn::Mul(load_some(x + i, count), scale), load_some(weight + i, count)), out + i, count);
  });
}

void silu_mul(const float* gate, const float* up, uint32_t n, float* out) {
  const V one = hn::Set(d, 1.0f);
  for_vectors(n, [&](uint32_t i, uint32_t count) {
    const V g = load_some(gate + i, count);
    // Exp is good up to 88, where the quotient is as good as 0; NaN stays NaN.
    const V e = hn::Exp(d, hn::Min(hn::Neg(g), hn::Set(d, 88.0f)));
    const V silu = hn::Div(g, hn::Add(one, e));
    store_some(hn::Mul(hn::IfThenElse(hn::IsNaN(g), g, silu), load_some(up + i, count)), out + i, count);
  });
}

// ---- attention -----------------------------------------------------------------------------------------------------------------

// scores := exp(scores - largest); gives the largest and the sum.
HWY_INLINE void soften(float* scores, uint32_t length, float* largest, float* sum) {
  float m = scores[0];
  for (uint32_t i = 1; i < length; ++i) m = scores[i] > m ? scores[i] : m;
  const V top = hn::Set(d, m);
  V total = hn::Zero(d);
  for_vectors(length, [&](uint32_t i, uint32_t count) {
    const V shifted = hn::Sub(load_some(scores + i, count), top);
    V e = hn::IfThenElse(hn::IsNaN(shifted), shifted, hn::Exp(d, shifted));
    if (count < kLanes) e = hn::IfThenElseZero(hn::FirstN(d, count), e);
    store_some(e, scores + i, count);
    total = hn::Add(total, e);
  });
  *largest = m;
  *sum = sum_of(total);
}

// acc[i] += sum over positions of weight[p] * values[p][i], positions in order.
HWY_INLINE void add_values(const float* values, const float* weight, uint32_t count, uint32_t n, float* acc) {
  constexpr uint32_t kWide = 4;
  uint32_t i = 0;
  for (; i + kWide * kLanes <= n; i += kWide * kLanes) {
    V sum[kWide];
    for (uint32_t k = 0; k < kWide; ++k) sum[k] = load(acc + i + k * kLanes);
    for (uint32_t p = 0; p < count; ++p) {
      const V w = hn::Set(d, weight[p]);
      for (uint32_t k = 0; k < kWide; ++k) sum[k] = hn::MulAdd(w, load(values + p * n + i + k * kLanes), sum[k]);
    }
    for (uint32_t k = 0; k < kWide; ++k) hn::StoreU(sum[k], d, acc + i + k * kLanes);
  }
  for (; i < n; i += kLanes) {
    const uint32_t some = at_most(kLanes, n - i);
    V sum = load_some(acc + i, some);
    for (uint32_t p = 0; p < count; ++p) sum = hn::MulAdd(hn::Set(d, weight[p]), load_some(values + p * n + i, some), sum);
    store_some(sum, acc + i, some);
  }
}

void attend(const float* q, uint32_t heads, uint32_t n, const KvRun* runs, uint32_t num_runs, float scale, float* scores, float* partials) {
  uint32_t length = 0;
  for (uint32_t run = 0; run < num_runs; ++run) {
    const KvRun& r = runs[run];
    for (uint32_t p = 0; p < r.count; ++p)
      for (uint32_t h = 0; h < heads; ++h) scores[h * kAttentionChunk + r.first + p] = dot(q + h * n, r.keys + uint64_t{p} * n, n) * scale;
    length += r.count;
  }
  for (uint32_t h = 0; h < heads; ++h) {
    float* out = partials + h * (n + 2);
    soften(scores + h * kAttentionChunk, length, out, out + 1);
    for (uint32_t i = 0; i < n; ++i) out[2 + i] = 0;
  }
  for (uint32_t run = 0; run < num_runs; ++run) {
    const KvRun& r = runs[run];
    for (uint32_t h = 0; h < heads; ++h) add_values(r.values, scores + h * kAttentionChunk + r.first, r.count, n, partials + h * (n + 2) + 2);
  }
}

HWY_INLINE float exp_of(float x) { return x != x ? x : hn::GetLane(hn::Exp(d, hn::Set(d, x))); }

void fold(float* into, const float* next, uint32_t n) {
  const float m = next[0] > into[0] ? next[0] : into[0];
  const float keep = exp_of(into[0] - m), add = exp_of(next[0] - m);
  into[0] = m;
  into[1] = into[1] * keep + next[1] * add;
  const V k = hn::Set(d, keep), a = hn::Set(d, add);
  for_vectors(n, [&](uint32_t i, uint32_t count) {
    store_some(hn::MulAdd(load_some(next + 2 + i, count), a, hn::Mul(load_some(into + 2 + i, count), k)), into + 2 + i, count);
  });
}

void finish(const float* partial, uint32_t n, float* out) {
  const V scale = hn::Set(d, 1.0f / partial[1]);
  for_vectors(n, [&](uint32_t i, uint32_t count) { store_some(hn::Mul(load_some(partial + 2 + i, count), scale), out + i, count); });
}

constexpr InnerLoops loops_named(const char* name) {
  return {name, block_product, widen, rms_norm, silu_mul, attend, fold, finish};
}

}  // namespace
}  // namespace tdl::host
