// embed: a row's token embedding and its rotary angles.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

constexpr uint32_t kThreads = 256;

// A sampled token may be kNoToken (the output was padding then): it, and anything else outside the table, reads as token 0.
__device__ __forceinline__ uint32_t token_of(const EmbedArgs& args, uint32_t row) {
  uint32_t token = at(args.token_ids)[row];
  if (args.token_from.address && at(args.token_from)[row] >= 0) token = at(args.sampled_tokens)[at(args.token_from)[row]];
  return token < args.vocab_size ? token : 0;
}

template <class T>
__global__ void __launch_bounds__(kThreads) embed_kernel(const EmbedArgs args) {
  wait_for_predecessors();
  let_successor_start();
  const uint32_t row = blockIdx.x;
  if (row >= at(args.header)->num_rows) return;
  const T* from = static_cast<const T*>(at(args.table.data)) + static_cast<uint64_t>(token_of(args, row)) * args.hidden_size;
  float* out = at(args.hidden) + static_cast<uint64_t>(row) * args.hidden_size;
  for (uint32_t i = threadIdx.x; i < args.hidden_size; i += kThreads) out[i] = to_float(from[i]);
  // All in f32, the product included, as transformers does it.
  const uint32_t half = args.head_dim / 2, position = at(args.meta.positions)[row];
  float* angles = at(args.cos_sin) + static_cast<uint64_t>(row) * args.head_dim;
  for (uint32_t i = threadIdx.x; i < half; i += kThreads) {
    const float angle = static_cast<float>(position) * at(args.inv_freq)[i];
    angles[i] = cosf(angle) * args.rope_scale;
    angles[half + i] = sinf(angle) * args.rope_scale;
  }
}

}  // namespace

Status embed(const EmbedArgs& args, Stream& stream) {
  if (args.rows == 0) return {};
  return launch(cuda_stream(stream), "embed", args.table.dtype == DType::f16 ? embed_kernel<__half> : embed_kernel<__nv_bfloat16>,
                Shape{dim3(args.rows), dim3(kThreads)}, args);
}

Status prepare_embed() {
  TDL_TRY(touch("embed", embed_kernel<__half>));
  return touch("embed", embed_kernel<__nv_bfloat16>);
}

}  // namespace tdl::cuda
