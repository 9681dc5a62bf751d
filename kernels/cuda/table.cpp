#include "kernels/cuda/table.h"

#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/stream_linear.h"

namespace tdl::cuda {
namespace {

template <class Args, Status (*Function)(const Args&, Stream&)>
Status in_context(const Args& args, Stream& stream) {
  const Current current = cuda_stream(stream).device().enter();
  return Function(args, stream);
}

}  // namespace

StageTable stage_table() {
  StageTable table;
  table.embed = in_context<EmbedArgs, embed>;
  table.qkv = in_context<QkvArgs, qkv>;
  table.rope_kv = in_context<RopeKvArgs, rope_kv>;
  table.attention = in_context<AttentionArgs, attention>;
  table.linear_residual = in_context<LinearResidualArgs, linear_residual>;
  table.gate_up = in_context<GateUpArgs, gate_up>;
  table.head = in_context<HeadArgs, head>;
  table.sample = in_context<SampleArgs, sample>;
  table.kv_copy = in_context<KvCopyArgs, kv_copy>;
  table.fill_random = in_context<FillRandomArgs, fill_random>;
  return table;
}

ProductTable& products(CudaDevice& device) { return device.products(); }

Result<bool> prepare_kernels(uint32_t shared_limit) {
  TDL_ASSIGN(const bool early_start, prepare_sample());
  TDL_TRY(prepare_embed());
  TDL_TRY(prepare_rope_kv());
  TDL_TRY(prepare_attention());
  TDL_TRY(prepare_norm());
  TDL_TRY(prepare_stream_linear(shared_limit));
  TDL_TRY(prepare_head());
  TDL_TRY(prepare_kv_copy());
  TDL_TRY(prepare_fill_random());
  return early_start;
}

}  // namespace tdl::cuda
