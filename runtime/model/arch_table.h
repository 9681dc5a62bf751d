// Model families as rows of data: what a checkpoint of each is called, which optional parts it has.  One forward pass reads them.
#pragma once
#include <cstdint>
#include <string_view>

namespace tdl {

enum class Presence : uint8_t {
  never,
  always,
  by_config,  // the config key that the row names decides
};

// In patterns "{}" stands for the layer's number; each is the tensor's name without ".weight" or ".bias".
struct TensorNames {
  const char *embed, *final_norm, *head;
  const char *attention_norm, *q, *k, *v, *o, *q_norm, *k_norm;
  const char *mlp_norm, *gate, *up, *down;
};

struct ArchRow {
  const char* architecture;  // config.json "architectures"[0]
  const char* model_type;
  TensorNames names;
  Presence qkv_bias, o_bias, mlp_bias, qk_norm;
  // always: "sliding_window", unless it is null, holds for every layer, or for those that "layer_types" names (transformers' AutoModel then takes a
  // Mistral for a Ministral).  by_config: it holds when "use_sliding_window" is true, for
  // the layers that "layer_types" names, else for those from "max_window_layers" on.
  Presence sliding_window;
  const char* attention_bias_key;  // the keys that by_config means; null where unused
  const char* mlp_bias_key;
  // What the family's configs mean by leaving a key out, where that is not the general rule.
  uint32_t default_head_dim;       // "head_dim"; 0 = hidden_size / num_attention_heads
  uint32_t default_kv_heads;       // "num_key_value_heads"; 0 = num_attention_heads.  (null is num_attention_heads everywhere)
};

// Null when no family has the name.
const ArchRow* find_arch(std::string_view architecture);

// What a checkpoint may hold beside the tensors of its model, for Checkpoint::check_all_taken: rotary frequencies, which old ones
// carry in every layer although config.json decides; with `tied_head` also the output matrix, which some store all the same.
// (transformers uses such a matrix where it differs from the embedding: compare them with Checkpoint::equal.)
using IgnoredTensor = bool (*)(std::string_view name);
IgnoredTensor ignored_tensors(bool tied_head);

}  // namespace tdl
