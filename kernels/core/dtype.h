// Element types of weights and caches, and their exact conversions to f32.
#pragma once
#include <bit>
#include <cstdint>

namespace tdl {

enum class DType : int32_t { f32 = 1, bf16 = 2, f16 = 3 };  // the values of TDL_F32, TDL_BF16, TDL_F16

constexpr uint32_t size_of(DType type) { return type == DType::f32 ? 4 : 2; }

constexpr const char* name_of(DType type) {
  return type == DType::f32 ? "f32" : type == DType::bf16 ? "bf16" : "f16";
}

constexpr float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Round to nearest, ties to even; NaN stays NaN.
constexpr uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // zero and subnormals: mantissa x 2^-24, exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

}  // namespace tdl
