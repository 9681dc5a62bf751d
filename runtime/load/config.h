// A model's shape, read from config.json (the forms of transformers 4 and 5) and generation_config.json.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/dtype.h"
#include "kernels/core/status.h"
#include "runtime/load/source.h"
#include "runtime/model/arch_table.h"

namespace tdl {

struct ModelConfig {
  const ArchRow* arch = nullptr;       // the family's row
  std::string architecture;            // as config.json names it
  uint32_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, num_layers = 0;
  uint32_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  uint32_t max_positions = 0;          // max_position_embeddings
  float rms_norm_eps = 0;
  bool tied_head = false;              // lm_head is embed_tokens
  bool qkv_bias = false, o_bias = false, mlp_bias = false, qk_norm = false;
  std::vector<uint32_t> window;        // [num_layers] sliding window of each layer, 0 = none
  std::vector<float> inv_freq;         // [head_dim / 2] rotary frequencies, any scaling applied
  float rope_scale = 1.0f;             // multiplies cosines and sines (yarn)
  DType random_dtype = DType::bf16;    // the type of weights made by TDL_ENGINE_RANDOM_WEIGHTS: config.json's own
  std::vector<uint32_t> eos;           // generation_config.json's, else config.json's; below vocab_size, at most 8
};

// not_found without config.json; format for malformed fields; unsupported for a family, activation, rope type or feature that is
// not ours; every message names the field.
Result<ModelConfig> load_config(const Source& source);

}  // namespace tdl
