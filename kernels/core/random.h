// Random weights: the same on every machine and device.
#pragma once
#include <bit>
#include <cstdint>

#include "kernels/core/dtype.h"

namespace tdl {

// A hash, as in splitmix64.
constexpr uint64_t mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

// Uniform in [-0.0346, 0.0346]: the deviation (0.02) that most families start training with.
constexpr float random_weight(uint64_t seed, uint64_t index) {
  return static_cast<float>(static_cast<int32_t>(mix(seed + index) >> 32)) * 0x1p-31f * 0.0346f;
}

// A value of magnitude below 1 as f16 bits, cut off; what f16 only has as a subnormal becomes zero.
constexpr uint16_t small_f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = (bits >> 23) & 0xFFu;
  if (exponent < 113) return 0;
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (exponent - 112) << 10 | (bits >> 13 & 0x3FFu));
}

}  // namespace tdl
