#include "runtime/model/arch_table.h"

namespace tdl {
namespace {

// Llama's names, which every family here has kept; q_norm and k_norm are Qwen3's.
constexpr TensorNames kLlamaNames = {
    .embed = "model.embed_tokens",
    .final_norm = "model.norm",
    .head = "lm_head",
    .attention_norm = "model.layers.{}.input_layernorm",
    .q = "model.layers.{}.self_attn.q_proj",
    .k = "model.layers.{}.self_attn.k_proj",
    .v = "model.layers.{}.self_attn.v_proj",
    .o = "model.layers.{}.self_attn.o_proj",
    .q_norm = "model.layers.{}.self_attn.q_norm",
    .k_norm = "model.layers.{}.self_attn.k_norm",
    .mlp_norm = "model.layers.{}.post_attention_layernorm",
    .gate = "model.layers.{}.mlp.gate_proj",
    .up = "model.layers.{}.mlp.up_proj",
    .down = "model.layers.{}.mlp.down_proj",
};

constexpr ArchRow kRows[] = {
    {
        .architecture = "LlamaForCausalLM",
        .model_type = "llama",
        .names = kLlamaNames,
        .qkv_bias = Presence::by_config,
        .o_bias = Presence::by_config,
        .mlp_bias = Presence::by_config,
        .qk_norm = Presence::never,
        .sliding_window = Presence::never,
        .attention_bias_key = "attention_bias",
        .mlp_bias_key = "mlp_bias",
        .default_head_dim = 0,
        .default_kv_heads = 0,
    },
    {
        .architecture = "MistralForCausalLM",
        .model_type = "mistral",
        .names = kLlamaNames,
        .qkv_bias = Presence::never,
        .o_bias = Presence::never,
        .mlp_bias = Presence::never,
        .qk_norm = Presence::never,
        .sliding_window = Presence::always,
        .attention_bias_key = nullptr,
        .mlp_bias_key = nullptr,
        .default_head_dim = 0,
        .default_kv_heads = 8,
    },
    {
        .architecture = "Qwen2ForCausalLM",
        .model_type = "qwen2",
        .names = kLlamaNames,
        .qkv_bias = Presence::always,
        .o_bias = Presence::never,
        .mlp_bias = Presence::never,
        .qk_norm = Presence::never,
        .sliding_window = Presence::by_config,
        .attention_bias_key = nullptr,
        .mlp_bias_key = nullptr,
        .default_head_dim = 0,
        .default_kv_heads = 32,
    },
    {
        .architecture = "Qwen3ForCausalLM",
        .model_type = "qwen3",
        .names = kLlamaNames,
        .qkv_bias = Presence::by_config,
        .o_bias = Presence::by_config,
        .mlp_bias = Presence::never,
        .qk_norm = Presence::always,
        .sliding_window = Presence::by_config,
        .attention_bias_key = "attention_bias",
        .mlp_bias_key = nullptr,
        .default_head_dim = 128,
        .default_kv_heads = 32,
    },
};

bool rotary_buffer(std::string_view name) { return name.ends_with(".rotary_emb.inv_freq"); }
bool rotary_buffer_or_head(std::string_view name) { return rotary_buffer(name) || name == "lm_head.weight"; }

}  // namespace

const ArchRow* find_arch(std::string_view architecture) {
  for (const ArchRow& row : kRows)
    if (architecture == row.architecture) return &row;
  return nullptr;
}

IgnoredTensor ignored_tensors(bool tied_head) { return tied_head ? rotary_buffer_or_head : rotary_buffer; }

}  // namespace tdl
