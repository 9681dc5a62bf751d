#include "runtime/model/forward.h"

#include <algorithm>

namespace tdl {
namespace {

Status run_layer(const Model& model, const ForwardArgs& a, uint32_t layer, const Device& device, Stream& stream) {
  const StageTable& stages = device.stages();
  const ModelConfig& c = *model.config;
  const LayerWeights& w = model.weights->layers[layer];
  const Activations& x = a.activations;
  const AttentionShape shape{c.num_heads, c.num_kv_heads, c.head_dim, model.block_size};
  const KvLayer kv{{model.kv + layer * model.layer_bytes}, model.kv_dtype};

  QkvArgs qkv{};
  qkv.header = a.header;
  qkv.hidden = x.hidden.as<const float>();
  qkv.norm = w.attention_norm;
  qkv.weight = w.qkv;
  qkv.bias = w.qkv_bias;
  qkv.normed = x.normed;
  qkv.qkv = x.qkv;
  qkv.eps = c.rms_norm_eps;
  qkv.rows = a.rows;
  TDL_TRY(stages.qkv(qkv, stream));

  RopeKvArgs rope{};
  rope.header = a.header;
  rope.meta = a.meta;
  rope.shape = shape;
  rope.cos_sin = x.cos_sin.as<const float>();
  rope.q_norm = w.q_norm;
  rope.k_norm = w.k_norm;
  rope.qkv = x.qkv;
  rope.kv = kv;
  rope.eps = c.rms_norm_eps;
  rope.rows = a.rows;
  TDL_TRY(stages.rope_kv(rope, stream));

  AttentionArgs attention{};
  attention.header = a.header;
  attention.meta = a.meta;
  attention.shape = shape;
  attention.chunk_start = a.chunk_start;
  attention.qkv = x.qkv.as<const float>();
  attention.kv = kv;
  attention.out = x.attention;
  attention.out_dtype = device.operand_dtype(w.o.dtype);
  attention.partials = x.partials;
  attention.tickets = x.tickets;
  attention.max_chunks = x.max_chunks;
  attention.scale = model.attention_scale;
  attention.window = w.window;
  attention.rows = a.rows;
  attention.rows_per_seq = a.rows_per_seq;
  TDL_TRY(stages.attention(attention, stream));

  LinearResidualArgs o{};
  o.header = a.header;
  o.x = x.attention;
  o.weight = w.o;
  o.bias = w.o_bias;
  o.hidden = x.hidden;
  o.rows = a.rows;
  TDL_TRY(stages.linear_residual(o, stream));

  GateUpArgs gate_up{};
  gate_up.header = a.header;
  gate_up.hidden = x.hidden.as<const float>();
  gate_up.norm = w.mlp_norm;
  gate_up.weight = w.gate_up;
  gate_up.bias = w.gate_up_bias;
  gate_up.normed = x.normed;
  gate_up.gate_up = x.gate_up;
  gate_up.out = x.inner;
  gate_up.out_dtype = device.operand_dtype(w.down.dtype);
  gate_up.eps = c.rms_norm_eps;
  gate_up.rows = a.rows;
  TDL_TRY(stages.gate_up(gate_up, stream));

  LinearResidualArgs down{};
  down.header = a.header;
  down.x = x.inner;
  down.weight = w.down;
  down.bias = w.down_bias;
  down.hidden = x.hidden;
  down.rows = a.rows;
  return stages.linear_residual(down, stream);
}

}  // namespace

Status forward(const Model& model, const ForwardArgs& a, const PassControl* control, Device& device, Stream& stream, uint32_t layers) {
  const ModelConfig& c = *model.config;
  const StageTable& stages = device.stages();
  EmbedArgs embed{};
  embed.header = a.header;
  embed.meta = a.meta;
  embed.token_ids = a.token_ids;
  embed.token_from = a.token_from;
  embed.sampled_tokens = a.out.tokens.as<const uint32_t>();
  embed.table = model.weights->embed;
  embed.inv_freq = model.weights->inv_freq;
  embed.hidden = a.activations.hidden;
  embed.cos_sin = a.activations.cos_sin;
  embed.rope_scale = c.rope_scale;
  embed.rows = a.rows;
  embed.hidden_size = c.hidden_size;
  embed.head_dim = c.head_dim;
  embed.vocab_size = c.vocab_size;
  TDL_TRY(stages.embed(embed, stream));
  for (uint32_t layer = 0; layer < std::min(c.num_layers, layers); ++layer) {
    if (control) TDL_TRY(device.checkpoint(*control, stream));
    TDL_TRY(run_layer(model, a, layer, device, stream));
  }
  if (a.outputs == 0) return {};
  HeadArgs head{};
  head.header = a.header;
  head.output_row = a.output_row;
  head.hidden = a.activations.hidden.as<const float>();
  head.norm = model.weights->final_norm;
  head.weight = model.weights->head;
  head.normed = a.activations.normed;
  head.hidden_out = a.out.hidden;
  head.logits = a.out.logits;
  head.row_status = a.out.row_status;
  head.eps = c.rms_norm_eps;
  head.outputs = a.outputs;
  return stages.head(head, stream);
}

Status sample(const Model& model, const ForwardArgs& a, Device& device, Stream& stream) {
  if (a.outputs == 0) return {};
  SampleArgs args{};
  args.header = a.header;
  args.output_row = a.output_row;
  args.logits = a.out.logits.as<const float>();
  args.row_status = a.out.row_status.as<const int32_t>();
  args.tokens = a.out.tokens;
  args.outputs = a.outputs;
  args.vocab_size = model.config->vocab_size;
  return device.stages().sample(args, stream);
}

}  // namespace tdl
