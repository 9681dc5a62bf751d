// embed: a row's token embedding and its rotary angles.
#include <cmath>

#include "kernels/host/dot.h"
#include "kernels/host/table.h"

namespace tdl::host {
namespace {

// A sampled token may be kNoToken (the output was padding then): it, and anything else outside the table, reads as token 0.
uint32_t token_of(const EmbedArgs& args, uint32_t row) {
  uint32_t token = at(args.token_ids)[row];
  if (args.token_from && at(args.token_from)[row] >= 0) token = at(args.sampled_tokens)[at(args.token_from)[row]];
  return token < args.vocab_size ? token : 0;
}

template <class T>
void embed_token(const EmbedArgs& args, uint32_t token, float* out) {
  widen_row(static_cast<const T*>(at(args.table.data)) + uint64_t{token} * args.hidden_size, args.hidden_size, out);
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
    switch (args.table.dtype) {
      case DType::f32: embed_token<float>(args, token, out); break;
      case DType::bf16: embed_token<Bf16>(args, token, out); break;
      case DType::f16: embed_token<F16>(args, token, out); break;
    }
    rotary_angles(args, at(args.meta.positions)[row], at(args.cos_sin) + uint64_t{row} * args.head_dim);
  });
}

}  // namespace tdl::host
