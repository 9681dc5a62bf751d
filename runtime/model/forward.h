// The forward pass: stage calls for one trip through the layers, the same for eager execution and for capture.
#pragma once
#include <cstdint>

#include "kernels/device.h"
#include "runtime/load/config.h"
#include "runtime/model/weights.h"

namespace tdl {

// What a model is to the forward pass; fixed for the engine's life.
struct Model {
  const ModelConfig* config;
  const Weights* weights;
  uint64_t kv;            // KV cache: [layer][layer_bytes]
  uint64_t layer_bytes;
  DType kv_dtype;
  uint32_t block_size;
  float attention_scale;  // 1 / sqrt(head_dim), computed once: a caller's rounding mode must not reach a pass
};

// Working memory for the largest pass; fixed for the engine's life.  void: operands, in the device's own type (stages.h).
struct Activations {
  DevicePtr<float> hidden;       // [rows, hidden]
  DevicePtr<void> normed;        // [rows, hidden]
  DevicePtr<float> qkv;          // [rows, (heads + 2 kv_heads) x head_dim]
  DevicePtr<void> attention;     // [rows, heads x head_dim]
  DevicePtr<void> gate_up;       // [rows, 2 x intermediate]
  DevicePtr<void> inner;         // [rows, intermediate]
  DevicePtr<float> cos_sin;      // [rows, head_dim]
  DevicePtr<float> partials;     // [max_chunks, heads, head_dim + 2]
  DevicePtr<uint32_t> tickets;   // [rows, kv_heads], zero
  uint32_t max_chunks = 0;

  friend constexpr bool operator==(const Activations&, const Activations&) = default;
};

// Where a pass leaves its results; fixed for the engine's life.
struct Outputs {
  DevicePtr<float> logits;        // [max_outputs, vocab]
  DevicePtr<float> hidden;        // [max_outputs, hidden] after the final norm
  DevicePtr<int32_t> row_status;  // [max_outputs]
  DevicePtr<uint32_t> tokens;     // [max_outputs]

  friend constexpr bool operator==(const Outputs&, const Outputs&) = default;
};

// Everything that a pass is launched with: a captured graph is compared with these before it is replayed.
struct ForwardArgs {
  DevicePtr<const PassHeader> header;
  AttnMetadata meta{};  // with max_blocks_per_seq 0: kernels read the stride from the header
  DevicePtr<const uint32_t> token_ids;
  DevicePtr<const int32_t> token_from;
  DevicePtr<const uint32_t> chunk_start;
  DevicePtr<const int32_t> output_row;
  Activations activations;
  Outputs out;
  uint32_t rows = 0, outputs = 0;  // padded
  uint32_t rows_per_seq = 0;       // 0 on prefill

  friend constexpr bool operator==(const ForwardArgs&, const ForwardArgs&) = default;
};

// Enqueues embed, the layers and, with outputs, the head.  `control` null: no boundaries between the layers (capture).
// Only the first `layers` layers when there are more (warming up).
Status forward(const Model& model, const ForwardArgs& args, const PassControl* control, Device& device, Stream& stream, uint32_t layers = UINT32_MAX);

// Enqueues greedy sampling over the logits that forward left.
Status sample(const Model& model, const ForwardArgs& args, Device& device, Stream& stream);

}  // namespace tdl
