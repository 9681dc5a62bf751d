#include "runtime/model/weights.h"

#include <algorithm>
#include <cstring>

namespace tdl {
namespace {

constexpr uint64_t kAlign = 256;  // of every matrix and vector: what any device's vector loads want

std::string layer_name(const char* pattern, uint32_t layer) {
  std::string name = pattern;
  const size_t at = name.find("{}");
  if (at != std::string::npos) name.replace(at, 2, std::to_string(layer));
  return name;
}

bool ends_with(const std::string& text, const char* end) {
  const size_t length = std::strlen(end);
  return text.size() >= length && text.compare(text.size() - length, length, end) == 0;
}

uint64_t product(const std::vector<uint64_t>& shape) {
  uint64_t count = 1;
  for (const uint64_t size : shape) count *= size;
  return count;
}

// Whether the head is a matrix of its own.  A tied model's checkpoint may hold one all the same: it counts where it differs from the
// embedding, as in transformers.
Result<bool> has_own_head(const ModelConfig& config, const Checkpoint* checkpoint) {
  if (!config.tied_head || !checkpoint) return !config.tied_head;
  const TensorInfo* embed = checkpoint->find(std::string(config.arch->names.embed) + ".weight");
  const TensorInfo* head = checkpoint->find(std::string(config.arch->names.head) + ".weight");
  if (!embed || !head) return false;
  TDL_ASSIGN(const bool same, checkpoint->equal(*embed, *head));
  return !same;
}

}  // namespace

Status WeightPlan::add_matrix(Checkpoint* checkpoint, const std::vector<std::string>& names, const std::vector<uint32_t>& outs, uint32_t in,
                              Matrix* matrix) {
  matrix->out = 0;
  matrix->in = in;
  matrix->data = {bytes_ + 1};
  for (size_t i = 0; i < names.size(); ++i) {
    WeightPiece piece{names[i] + ".weight", {outs[i], in}, nullptr, random_dtype_, random_dtype_, false, bytes_, 0};
    if (checkpoint) {
      TDL_ASSIGN(piece.tensor, checkpoint->take(piece.name, piece.shape));
      piece.stored = piece.tensor->dtype;
    }
    piece.kept = device_->matrix_dtype(piece.stored);
    narrows_ = narrows_ || size_of(piece.kept) < size_of(piece.stored);
    if (i > 0 && piece.kept != matrix->dtype)
      return fail(Code::unsupported, "tensor '%s' is %s, but '%s.weight', which it is packed with, is %s", piece.name.c_str(), name_of(piece.stored),
                  names[0].c_str(), name_of(pieces_.back().stored));
    matrix->dtype = piece.kept;
    matrix->out += outs[i];
    TDL_TRY(device_->check_matrix(piece.name.c_str(), *matrix));
    piece.bytes = product(piece.shape) * size_of(piece.kept);
    bytes_ += piece.bytes;
    pieces_.push_back(std::move(piece));
  }
  bytes_ = (bytes_ + kAlign - 1) / kAlign * kAlign;
  return {};
}

Status WeightPlan::add_vector(Checkpoint* checkpoint, const std::vector<std::string>& names, const std::vector<uint32_t>& sizes,
                              DevicePtr<const float>* vector) {
  vector->address = bytes_ + 1;
  for (size_t i = 0; i < names.size(); ++i) {
    WeightPiece piece{names[i], {sizes[i]}, nullptr, DType::f32, DType::f32, ends_with(names[i], "norm.weight"), bytes_, uint64_t{sizes[i]} * sizeof(float)};
    if (checkpoint) {
      TDL_ASSIGN(piece.tensor, checkpoint->take(piece.name, piece.shape));
      piece.stored = piece.tensor->dtype;
    }
    bytes_ += piece.bytes;
    pieces_.push_back(std::move(piece));
  }
  bytes_ = (bytes_ + kAlign - 1) / kAlign * kAlign;
  return {};
}

Status WeightPlan::add_layer(const ModelConfig& c, Checkpoint* checkpoint, uint32_t layer) {
  const TensorNames& n = c.arch->names;
  const auto name = [layer](const char* pattern) { return layer_name(pattern, layer); };
  const uint32_t q = c.num_heads * c.head_dim, kv = c.num_kv_heads * c.head_dim, hidden = c.hidden_size, inner = c.intermediate_size;
  LayerWeights weights;
  weights.window = c.window[layer];
  TDL_TRY(add_vector(checkpoint, {name(n.attention_norm) + ".weight"}, {hidden}, &weights.attention_norm));
  TDL_TRY(add_matrix(checkpoint, {name(n.q), name(n.k), name(n.v)}, {q, kv, kv}, hidden, &weights.qkv));
  if (c.qkv_bias) TDL_TRY(add_vector(checkpoint, {name(n.q) + ".bias", name(n.k) + ".bias", name(n.v) + ".bias"}, {q, kv, kv}, &weights.qkv_bias));
  if (c.qk_norm) {
    TDL_TRY(add_vector(checkpoint, {name(n.q_norm) + ".weight"}, {c.head_dim}, &weights.q_norm));
    TDL_TRY(add_vector(checkpoint, {name(n.k_norm) + ".weight"}, {c.head_dim}, &weights.k_norm));
  }
  TDL_TRY(add_matrix(checkpoint, {name(n.o)}, {hidden}, q, &weights.o));
  if (c.o_bias) TDL_TRY(add_vector(checkpoint, {name(n.o) + ".bias"}, {hidden}, &weights.o_bias));
  TDL_TRY(add_vector(checkpoint, {name(n.mlp_norm) + ".weight"}, {hidden}, &weights.mlp_norm));
  TDL_TRY(add_matrix(checkpoint, {name(n.gate), name(n.up)}, {inner, inner}, hidden, &weights.gate_up));
  if (c.mlp_bias) TDL_TRY(add_vector(checkpoint, {name(n.gate) + ".bias", name(n.up) + ".bias"}, {inner, inner}, &weights.gate_up_bias));
  TDL_TRY(add_matrix(checkpoint, {name(n.down)}, {hidden}, inner, &weights.down));
  if (c.mlp_bias) TDL_TRY(add_vector(checkpoint, {name(n.down) + ".bias"}, {hidden}, &weights.down_bias));
  relative_.layers.push_back(weights);
  return {};
}

Result<WeightPlan> WeightPlan::make(const ModelConfig& config, const Device& device, Checkpoint* checkpoint) {
  WeightPlan plan;
  plan.device_ = &device;
  plan.random_dtype_ = config.random_dtype;
  const TensorNames& names = config.arch->names;
  TDL_TRY(plan.add_matrix(checkpoint, {names.embed}, {config.vocab_size}, config.hidden_size, &plan.relative_.embed));
  for (uint32_t layer = 0; layer < config.num_layers; ++layer) TDL_TRY(plan.add_layer(config, checkpoint, layer));
  TDL_TRY(plan.add_vector(checkpoint, {std::string(names.final_norm) + ".weight"}, {config.hidden_size}, &plan.relative_.final_norm));
  TDL_ASSIGN(const bool own_head, has_own_head(config, checkpoint));
  if (own_head) TDL_TRY(plan.add_matrix(checkpoint, {names.head}, {config.vocab_size}, config.hidden_size, &plan.relative_.head));
  else plan.relative_.head = plan.relative_.embed;
  if (checkpoint) TDL_TRY(checkpoint->check_all_taken(ignored_tensors(config.tied_head)));
  plan.inv_freq_ = config.inv_freq;
  plan.inv_freq_offset_ = plan.bytes_;
  plan.bytes_ += (plan.inv_freq_.size() * sizeof(float) + kAlign - 1) / kAlign * kAlign;
  plan.device_ = nullptr;
  return plan;
}

Weights WeightPlan::bind(uint64_t base) const {
  Weights weights = relative_;
  const auto move = [base](auto& pointer) {
    if (pointer) pointer.address += base - 1;
  };
  move(weights.embed.data);
  move(weights.head.data);
  move(weights.final_norm);
  weights.inv_freq = {base + inv_freq_offset_};
  for (LayerWeights& layer : weights.layers) {
    for (Matrix* matrix : {&layer.qkv, &layer.o, &layer.gate_up, &layer.down}) move(matrix->data);
    for (DevicePtr<const float>* vector : {&layer.attention_norm, &layer.mlp_norm, &layer.q_norm, &layer.k_norm, &layer.qkv_bias, &layer.o_bias,
                                           &layer.gate_up_bias, &layer.down_bias})
      move(*vector);
  }
  return weights;
}

}  // namespace tdl
