// Highway's vectors as the inner loops use them: stored elements widened to f32, and the sums of lanes.
// This and the *_loops.h beside it are included by the file of each instruction set, whose flags decide what Highway's vectors are.
// Everything in them has internal linkage, and no function of the standard library is used that could be emitted on its own: the linker
// would give the copy made for one instruction set to all the others.
#pragma once
#include <hwy/highway.h>

#include "kernels/core/dtype.h"

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

// The sum over the lanes of a vector: one tree, whatever stands beside it.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE float sum_of(V lanes) { return hn::GetLane(lanes); }
HWY_INLINE void sums_of(const V* of, float* to) {
  for (uint32_t i = 0; i < 4; ++i) to[i] = sum_of(of[i]);
}
#else
using U64 = hn::Repartition<uint64_t, D>;
using D4 = hn::FixedTag<float, 4>;
template <class Tag>
HWY_INLINE hn::Vec<D4> fold_blocks(Tag, hn::Vec<Tag> blocks) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return blocks;
  } else {
    const hn::Half<Tag> half;
    return fold_blocks(half, hn::Add(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks)));
  }
}
HWY_INLINE hn::Vec<D4> sums_of(V a, V b, V c, V e) {
  const V ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const V ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const U64 pairs;
  const auto x = hn::BitCast(pairs, ab), y = hn::BitCast(pairs, ce);
  return fold_blocks(d, hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, x, y)), hn::BitCast(d, hn::InterleaveUpper(pairs, x, y))));
}
HWY_INLINE float sum_of(V lanes) { return hn::GetLane(sums_of(lanes, hn::Zero(d), hn::Zero(d), hn::Zero(d))); }
// Those of four vectors.
HWY_INLINE void sums_of(const V* of, float* to) { hn::StoreU(sums_of(of[0], of[1], of[2], of[3]), D4(), to); }
#endif

// f(i, count) for each vector's worth of n elements; count is kLanes but for the last.
template <class F>
HWY_INLINE void for_vectors(uint32_t n, const F& f) {
  for (uint32_t i = 0; i < n; i += kLanes) f(i, at_most(kLanes, n - i));
}
template <class T>
HWY_INLINE V load_some(const T* from, uint32_t count) { return count == kLanes ? load(from) : load_tail(from, count); }
HWY_INLINE void store_some(V value, float* to, uint32_t count) {
  if (count == kLanes) {
    hn::StoreU(value, d, to);
    return;
  }
  float all[kLanes];
  hn::StoreU(value, d, all);
  for (uint32_t i = 0; i < count; ++i) to[i] = all[i];
}

}  // namespace
}  // namespace tdl::host
