// The one dot product of the host device.  Every sum over a row (products, norms, attention scores) goes through its sixteen lanes
// and the same final tree, so that a value's bits depend on its two vectors alone: not on how many rows are computed beside it.
#pragma once
#include <bit>
#include <cstdint>

#include "kernels/core/dtype.h"

namespace tdl::host {

inline constexpr uint32_t kLanes = 16;

// Stored elements.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

inline float widen(float value) { return value; }
inline float widen(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
// f16_to_f32 without branches, so that loops over it become vectors, and without f32 subnormals, which are slow.
inline float widen(F16 value) {
  const uint32_t magnitude = (value.bits & 0x7FFFu) << 13, exponent = value.bits & 0x7C00u;
  const uint32_t normal = magnitude + (112u << 23) + (exponent == 0x7C00u ? 112u << 23 : 0u);
  // A subnormal is (2^-14 + it) - 2^-14, exactly.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude + (113u << 23)) - 0x1p-14f);
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  return std::bit_cast<float>((exponent == 0 ? subnormal : normal) | sign);
}

// lane[j] += a[i] * b[i] for every i < n with i % 16 == j, in ascending i.  A long sum may be cut at multiples of 16.
template <class T>  // float, Bf16, F16
void accumulate(float* lane /* [16] */, const T* a /* [n] */, const float* b /* [n] */, uint32_t n) noexcept;

// The sum of the lanes: j and j + 8, then 4, 2 and 1 apart.
float fold_lanes(const float* lane /* [16] */) noexcept;

template <class T>  // `a` comes from memory, `b` from a cache
float dot(const T* a /* [n] */, const float* b /* [n] */, uint32_t n) noexcept;

// out[i] = a[i] in f32.
template <class T>
void widen_row(const T* a /* [n] */, uint32_t n, float* out /* [n] */) noexcept;

}  // namespace tdl::host
