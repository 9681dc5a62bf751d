// The inner loops over one row: widening, RMSNorm, SiLU.
#pragma once
#include "kernels/host/isa/vectors.h"
// After highway.h, which it needs.
#include <hwy/contrib/math/math-inl.h>

namespace tdl::host {
namespace {

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

void widen(const void* a, DType dtype, uint32_t n, float* out) {
  switch (dtype) {
    case DType::f32: return widen_row(static_cast<const float*>(a), n, out);
    case DType::bf16: return widen_row(static_cast<const Bf16*>(a), n, out);
    case DType::f16: return widen_row(static_cast<const F16*>(a), n, out);
  }
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

}  // namespace
}  // namespace tdl::host
