// rope_kv: q and k norms, rotary embedding in place, and the row's k and v into the cache.
#include <cstring>

#include "kernels/host/table.h"

namespace tdl::host {
namespace {

// x'[i] = x[i] cos[i] - x[i + half] sin[i];  x'[i + half] = x[i + half] cos[i] + x[i] sin[i].
void rotate(float* x, const float* cos_sin, uint32_t half) {
  for (uint32_t i = 0; i < half; ++i) {
    const float low = x[i], high = x[i + half];
    x[i] = low * cos_sin[i] - high * cos_sin[half + i];
    x[i + half] = high * cos_sin[i] + low * cos_sin[half + i];
  }
}

}  // namespace

void rope_kv(const RopeKvArgs& args, Pool& pool) {
  const uint32_t heads = args.shape.heads, kv_heads = args.shape.kv_heads;
  const uint32_t head_dim = args.shape.head_dim, block_size = args.shape.block_size;
  const float *q_norm = at(args.q_norm), *k_norm = at(args.k_norm);
  float* cache = static_cast<float*>(at(args.kv.data));
  pool.for_each(live_rows(args.header, args.rows), [&](uint32_t row) {
    float* q = at(args.qkv) + uint64_t{row} * (heads + 2 * kv_heads) * head_dim;
    float* k = q + heads * head_dim;
    const float* v = k + kv_heads * head_dim;
    const float* cos_sin = at(args.cos_sin) + uint64_t{row} * head_dim;
    for (uint32_t h = 0; h < heads + kv_heads; ++h) {
      float* x = q + h * head_dim;
      if (const float* norm = h < heads ? q_norm : k_norm) pool.loops().rms_norm(x, norm, head_dim, args.eps, x);
      rotate(x, cos_sin, head_dim / 2);
    }
    const int64_t slot = at(args.meta.slot)[row];
    if (slot < 0) return;
    const uint64_t block = static_cast<uint64_t>(slot) / block_size, offset = static_cast<uint64_t>(slot) % block_size;
    for (uint32_t h = 0; h < kv_heads; ++h) {
      float* keys = cache + (block * kv_heads + h) * 2 * block_size * head_dim;
      float* values = keys + uint64_t{block_size} * head_dim;
      std::memcpy(keys + offset * head_dim, k + h * head_dim, head_dim * sizeof(float));
      std::memcpy(values + offset * head_dim, v + h * head_dim, head_dim * sizeof(float));
    }
  });
}

}  // namespace tdl::host
