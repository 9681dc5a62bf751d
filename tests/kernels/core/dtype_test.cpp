#include "kernels/core/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

using namespace tdl;

namespace {

// The value of a small float with `exponent_bits` and `mantissa_bits`, from the definition.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
  const double mantissa = static_cast<double>(bits & ((1u << mantissa_bits) - 1)) / static_cast<double>(1u << mantissa_bits);
  const double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return exponent == 0 ? sign * std::ldexp(mantissa, 1 - bias) : sign * std::ldexp(1 + mantissa, exponent - bias);
}

// Exactly the same, signs of zeros included; NaN equals NaN.
bool same(float got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got);
  return static_cast<double>(got) == wanted && std::signbit(got) == std::signbit(wanted);
}

// The nearest bf16 to a finite float, ties to even, by trying the neighbours.
uint16_t nearest_bf16(float value) {
  const auto truncated = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  const auto above = static_cast<uint16_t>(truncated + 1);  // next in magnitude; may be infinity, which stands for 2^128
  const auto exact = [](uint16_t bits) { return (bits & 0x7FFF) == 0x7F80 ? std::ldexp(1.0, 128) : std::abs(value_of(bits, 8, 7)); };
  const double low = std::abs(static_cast<double>(value)) - exact(truncated), high = exact(above) - std::abs(static_cast<double>(value));
  if (low != high) return low < high ? truncated : above;
  return truncated % 2 == 0 ? truncated : above;
}

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

}  // namespace

TEST_SUITE("dtype") {
  TEST_CASE("sizes and names") {
    CHECK(size_of(DType::f32) == 4);
    CHECK(size_of(DType::bf16) == 2);
    CHECK(size_of(DType::f16) == 2);
    CHECK(std::string(name_of(DType::f32)) == "f32");
    CHECK(std::string(name_of(DType::bf16)) == "bf16");
    CHECK(std::string(name_of(DType::f16)) == "f16");
    CHECK(static_cast<int32_t>(DType::f32) == 1);
    CHECK(static_cast<int32_t>(DType::bf16) == 2);
    CHECK(static_cast<int32_t>(DType::f16) == 3);
  }

  TEST_CASE("every bf16 is its value in f32") {
    uint32_t wrong = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) wrong += !same(bf16_to_f32(static_cast<uint16_t>(bits)), value_of(bits, 8, 7));
    CHECK(wrong == 0);
  }

  TEST_CASE("every f16 is its value in f32") {
    uint32_t wrong = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) wrong += !same(f16_to_f32(static_cast<uint16_t>(bits)), value_of(bits, 5, 10));
    CHECK(wrong == 0);
    CHECK(f16_to_f32(0x0001) == 0x1p-24f);
    CHECK(f16_to_f32(0x3C00) == 1.0f);
    CHECK(f16_to_f32(0x7BFF) == 65504.0f);
  }

  TEST_CASE("every bf16 comes back from f32 as it was, NaN as a NaN") {
    uint32_t wrong = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const uint16_t back = f32_to_bf16(bf16_to_f32(static_cast<uint16_t>(bits)));
      wrong += std::isnan(value_of(bits, 8, 7)) ? !std::isnan(value_of(back, 8, 7)) : back != bits;
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("f32 to bf16 rounds to nearest around every bf16, ties to even") {
    uint32_t wrong = 0;
    for (uint32_t high = 0; high < 65536; ++high) {
      if ((high & 0x7FFF) >= 0x7F80) continue;
      for (const uint32_t low : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
        const float value = from_bits(high << 16 | low);
        wrong += f32_to_bf16(value) != nearest_bf16(value);
      }
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("f32 to bf16 of known ties") {
    CHECK(f32_to_bf16(from_bits(0x3F808000)) == 0x3F80);  // 1 and half a step: down to even
    CHECK(f32_to_bf16(from_bits(0x3F818000)) == 0x3F82);  // up to even
    CHECK(f32_to_bf16(from_bits(0xBF818000)) == 0xBF82);
    CHECK(f32_to_bf16(from_bits(0x7F7F8000)) == 0x7F80);  // the largest becomes infinity
    CHECK(f32_to_bf16(from_bits(0x7F7F7FFF)) == 0x7F7F);
    CHECK(f32_to_bf16(from_bits(0x00000001)) == 0x0000);
    CHECK(f32_to_bf16(from_bits(0x00008000)) == 0x0000);
    CHECK(f32_to_bf16(from_bits(0x00008001)) == 0x0001);
  }

  TEST_CASE("f32 to bf16 keeps NaN and infinity, whatever the payload") {
    for (const uint32_t bits : {0x7F800001u, 0x7F80FFFFu, 0x7FC00000u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu}) {
      CHECK(std::isnan(value_of(f32_to_bf16(from_bits(bits)), 8, 7)));
      CHECK((f32_to_bf16(from_bits(bits)) & 0x8000) == (bits >> 16 & 0x8000));
    }
    CHECK(f32_to_bf16(std::numeric_limits<float>::infinity()) == 0x7F80);
    CHECK(f32_to_bf16(-std::numeric_limits<float>::infinity()) == 0xFF80);
  }

  TEST_CASE("f32 to bf16 of random floats") {
    std::mt19937 dice(3);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 100000; ++i) {
      const float value = from_bits(dice());
      if (std::isfinite(value)) wrong += f32_to_bf16(value) != nearest_bf16(value);
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("the conversions can be used at compile time") {
    static_assert(bf16_to_f32(0x3F80) == 1.0f && f16_to_f32(0x3C00) == 1.0f && f32_to_bf16(1.0f) == 0x3F80);
    CHECK(f16_to_f32(0xC000) == -2.0f);
  }
}
