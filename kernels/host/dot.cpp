#include "kernels/host/dot.h"

#include <bit>
#include <cstring>

namespace tdl::host {
namespace {

// Four lanes: what every machine has.  Compilers turn these into its vector instructions.
using F4 = float __attribute__((vector_size(16)));
using U4 = uint32_t __attribute__((vector_size(16)));
using H8 = uint16_t __attribute__((vector_size(16)));
static_assert(std::endian::native == std::endian::little);

template <class V>
inline V load(const void* from) {
  V value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// widen() of elements 0-3 and 4-7.
struct F8 {
  F4 low, high;
};
inline F8 widen8(const float* from) { return {load<F4>(from), load<F4>(from + 4)}; }
// The stored bits become the upper halves of 32-bit lanes.
inline F8 raise8(const void* from) {
  const H8 bits = load<H8>(from), zero = {};
  return {reinterpret_cast<F4>(__builtin_shufflevector(zero, bits, 0, 8, 1, 9, 2, 10, 3, 11)),
          reinterpret_cast<F4>(__builtin_shufflevector(zero, bits, 4, 12, 5, 13, 6, 14, 7, 15))};
}
inline F8 widen8(const Bf16* from) { return raise8(from); }
inline F4 widen_raised(F4 raised) {
  const U4 bits = reinterpret_cast<U4>(raised), magnitude = (bits & 0x7FFF0000u) >> 3, exponent = bits & 0x7C000000u;
  const U4 is_small = reinterpret_cast<U4>(exponent == 0), is_infinite = reinterpret_cast<U4>(exponent == 0x7C000000u);
  const U4 normal = magnitude + (112u << 23) + (is_infinite & (112u << 23));
  const U4 subnormal = reinterpret_cast<U4>(reinterpret_cast<F4>(magnitude + (113u << 23)) - 0x1p-14f);
  return reinterpret_cast<F4>((is_small & subnormal) | (~is_small & normal) | (bits & 0x80000000u));
}
inline F8 widen8(const F16* from) {
  const F8 raised = raise8(from);
  return {widen_raised(raised.low), widen_raised(raised.high)};
}

// Hardware prefetchers stop at page ends, so that one thread alone does not reach the memory's speed; asking this far ahead of a
// stream of weights gained 30-60% (the address may lie past the matrix: a prefetch never faults).
constexpr uintptr_t kAheadBytes = 2048;
inline void prefetch_ahead(const void* from) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + kAheadBytes));
}

struct Lanes {
  F4 v[4];  // lanes 0-3, 4-7, 8-11, 12-15

  template <bool kStreamed, class T>
  void add_products(const T* a, const float* b, uint32_t n) {
    F4 v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
    const uint32_t whole = n - n % kLanes;
    for (uint32_t i = 0; i < whole; i += kLanes) {
      if constexpr (kStreamed) prefetch_ahead(a + i);
      const F8 first = widen8(a + i), second = widen8(a + i + 8);
      v0 += first.low * load<F4>(b + i);
      v1 += first.high * load<F4>(b + i + 4);
      v2 += second.low * load<F4>(b + i + 8);
      v3 += second.high * load<F4>(b + i + 12);
    }
    v[0] = v0, v[1] = v1, v[2] = v2, v[3] = v3;
    for (uint32_t i = whole; i < n; ++i) v[(i - whole) / 4][(i - whole) % 4] += widen(a[i]) * b[i];
  }

  float sum() const {
    const F4 four = (v[0] + v[2]) + (v[1] + v[3]);
    return (four[0] + four[2]) + (four[1] + four[3]);
  }
};

}  // namespace

template <class T>
void accumulate(float* lane, const T* a, const float* b, uint32_t n) noexcept {
  Lanes lanes;
  std::memcpy(&lanes, lane, sizeof lanes);
  lanes.add_products<false>(a, b, n);
  std::memcpy(lane, &lanes, sizeof lanes);
}

float fold_lanes(const float* lane) noexcept { return load<Lanes>(lane).sum(); }

template <class T>
float dot(const T* a, const float* b, uint32_t n) noexcept {
  Lanes lanes = {};
  lanes.add_products<true>(a, b, n);
  return lanes.sum();
}

template <class T>
void widen_row(const T* a, uint32_t n, float* out) noexcept {
  uint32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    prefetch_ahead(a + i);
    const F8 eight = widen8(a + i);
    std::memcpy(out + i, &eight, sizeof eight);
  }
  for (; i < n; ++i) out[i] = widen(a[i]);
}

template void accumulate(float*, const float*, const float*, uint32_t) noexcept;
template void accumulate(float*, const Bf16*, const float*, uint32_t) noexcept;
template void accumulate(float*, const F16*, const float*, uint32_t) noexcept;
template float dot(const float*, const float*, uint32_t) noexcept;
template float dot(const Bf16*, const float*, uint32_t) noexcept;
template float dot(const F16*, const float*, uint32_t) noexcept;
template void widen_row(const float*, uint32_t, float*) noexcept;
template void widen_row(const Bf16*, uint32_t, float*) noexcept;
template void widen_row(const F16*, uint32_t, float*) noexcept;

}  // namespace tdl::host
