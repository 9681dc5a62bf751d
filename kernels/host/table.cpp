#include "kernels/host/table.h"

#include "kernels/host/stream.h"

namespace tdl::host {
namespace {

// What the bodies rely on and do not look at again.
template <class Args>
Status check(const Args&) { return {}; }

Status check_kv(const KvLayer& kv, const AttentionShape& shape) {
  if (kv.dtype != DType::f32) return fail(Code::unsupported, "the host device keeps KV in f32, not in %s", name_of(kv.dtype));
  if (shape.head_dim == 0 || shape.head_dim % 2 != 0 || shape.head_dim > kMostHeadDim)
    return fail(Code::unsupported, "head_dim is %u; the host device takes even ones up to %u", shape.head_dim, kMostHeadDim);
  if (shape.kv_heads == 0 || shape.heads % shape.kv_heads != 0)
    return fail(Code::internal, "%u heads cannot share %u KV heads", shape.heads, shape.kv_heads);
  if (shape.block_size == 0) return fail(Code::internal, "block_size is 0");
  return {};
}
Status check(const RopeKvArgs& args) { return check_kv(args.kv, args.shape); }
Status check(const AttentionArgs& args) { return check_kv(args.kv, args.shape); }

Status check(const GateUpArgs& args) {
  if (args.weight.out % 2 != 0) return fail(Code::internal, "gate_up has %u rows, an odd number", args.weight.out);
  return {};
}

Status check(const KvCopyArgs& args) {
  if (args.count > KvCopyArgs::kMost) return fail(Code::internal, "%u KV blocks to copy, at most %u", args.count, KvCopyArgs::kMost);
  return {};
}

template <class Args, void (*Function)(const Args&, Pool&)>
Status stage(const Args& args, Stream& stream) {
  auto& queue = static_cast<HostStream&>(stream);
  const Status checked = check(args);
  if (!checked.ok()) return queue.refuse(checked);
  return queue.submit(make_op(OpKind::stage, run_with<Args, Function>, args));
}

}  // namespace

StageTable stage_table() {
  StageTable table;
  table.embed = stage<EmbedArgs, embed>;
  table.qkv = stage<QkvArgs, qkv>;
  table.rope_kv = stage<RopeKvArgs, rope_kv>;
  table.attention = stage<AttentionArgs, attention>;
  table.linear_residual = stage<LinearResidualArgs, linear_residual>;
  table.gate_up = stage<GateUpArgs, gate_up>;
  table.head = stage<HeadArgs, head>;
  table.sample = stage<SampleArgs, sample>;
  table.kv_copy = stage<KvCopyArgs, kv_copy>;
  table.fill_random = stage<FillRandomArgs, fill_random>;
  return table;
}

}  // namespace tdl::host
