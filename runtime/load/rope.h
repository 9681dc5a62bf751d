// Rotary frequencies: how config.json gives them, in all its forms, and what they come to.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/load/fields.h"

namespace tdl {

enum class RopeType : uint8_t { plain, linear, llama3, yarn };  // plain is what configs call "default"

struct RopeParameters {
  RopeType type = RopeType::plain;
  double theta = 10000;
  double factor = 1;                             // linear, llama3, yarn: how much longer the context became
  uint32_t original_positions = 0;               // llama3, yarn: the context before that
  double low_freq_factor = 1, high_freq_factor = 4;   // llama3
  double beta_fast = 32, beta_slow = 1;          // yarn
  double attention_factor = 1;                   // yarn: multiplies cosines and sines
  bool truncate = true;                          // yarn: whole dimensions bound the ramp
};

// Reads rope_scaling and rope_theta (transformers 4) or rope_parameters (5); a rope_scaling that is not empty wins, and so does a
// rope_theta inside it.  format for a field that is malformed, missing or out of range; unsupported, by name, for other rope types,
// for partial rotation and for parameters that differ between layer types.  `max_positions` stands in for an
// original_max_position_embeddings that is not given.
Result<RopeParameters> read_rope(const Fields& config, uint32_t max_positions);

// [head_dim / 2] frequencies, radians per position, as transformers 5.17 computes them: theta ^ (2i / head_dim) and its reciprocal
// are rounded to f32 as there, what follows is done in double.  head_dim is even and not 0.
std::vector<float> rope_frequencies(const RopeParameters& rope, uint32_t head_dim);

}  // namespace tdl
