// embed: a row's token embedding and its rotary angles.
#include <cmath>

#include "kernels/host/table.h"

namespace tdl::host {
namespace {

// A sampled token may be kNoToken (the output was padding then): it, and anything else outside the table, reads as token 0.
uint32_t token_of(const EmbedArgs& args, uint32_t row) {
  uint32_t token = at(args.token_ids)[row];
  if (args.token_from && at(args.token_from)[row] >= 0) token = at(args.sampled_tokens)[at(args.token_from)[row]];
  return token < args.vocab_size ? token : 0;
}

// All in f32, the product included, as transformers does it.
void rotary_angles(const EmbedArgs& args, uint32_t position, float* cos_sin) {
  const uint32_t half = args.head_dim / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * at(args.inv_freq)[i];
    cos_sin[i] = std::cos(angle) * args.rope_scale;
    cos_sin[half + i] = std::sin(angle) * args.rope_scale;
  }
}

}  // namespace

void embed(const EmbedArgs& args, Pool& pool) {
  pool.for_each(live_rows(args.header, args.rows), [&](uint32_t row) {
    const uint32_t token = token_of(args, row);
    float* out = at(args.hidden) + uint64_t{row} * args.hidden_size;
    const uint64_t row_bytes = uint64_t{args.hidden_size} * size_of(args.table.dtype);
    pool.loops().widen(static_cast<const std::byte*>(at(args.table.data)) + token * row_bytes, args.table.dtype, args.hidden_size, out);
    rotary_angles(args, at(args.meta.positions)[row], at(args.cos_sin) + uint64_t{row} * args.head_dim);
  });
}

}  // namespace tdl::host
