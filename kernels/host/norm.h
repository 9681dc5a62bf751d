// RMSNorm of one vector, as transformers computes it in float32.
#pragma once
#include <cmath>
#include <cstdint>

#include "kernels/host/dot.h"

namespace tdl::host {

// out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; `out` may be `x`.
inline void rms_norm(const float* x, const float* weight, uint32_t n, float eps, float* out) {
  const float scale = 1.0f / std::sqrt(dot(x, x, n) / static_cast<float>(n) + eps);
  for (uint32_t i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

}  // namespace tdl::host
