// The memory plan: every byte an engine will allocate, known before anything is loaded, and where it lies in the one device arena.
#pragma once
#include <cstdint>

#include "kernels/core/paging.h"
#include "kernels/device.h"
#include "runtime/engine_config.h"
#include "runtime/model/forward.h"
#include "runtime/model/weight_load.h"

namespace tdl {

inline constexpr uint32_t kTickets = 4;  // results of the last four submits are kept

struct MemoryPlan {
  uint32_t num_blocks = 0;
  uint64_t weights = 0, kv_cache = 0, adapters = 0, activations = 0, metadata = 0, workspace = 0;  // device
  uint64_t host_pinned = 0, host_pageable = 0;
  uint64_t graphs_estimate = 0, context_estimate = 0, device_free = 0;

  DType kv_dtype = DType::f32;
  KvGeometry kv{};
  BlockLayout block;
  uint32_t max_chunks = 0;
  uint64_t arena_bytes = 0;
  // Offsets in the arena.
  uint64_t weights_at = 0, kv_at = 0, block_at = 0;
  uint64_t hidden_at = 0, normed_at = 0, qkv_at = 0, attention_at = 0, gate_up_at = 0, inner_at = 0, cos_sin_at = 0, partials_at = 0, tickets_at = 0;
  uint64_t workspace_at = 0, workspace_bytes = 0;  // of the device's stages
  uint64_t logits_at = 0, hidden_out_at = 0, results_at = 0;  // results: row_status and tokens side by side, copied as one

  Activations activations_at(uint64_t arena) const;
  Outputs outputs_at(uint64_t arena, uint32_t max_outputs) const;
};

// out_of_memory, with the figures, when not even one sequence of max_context fits; limit when the KV blocks cannot be addressed.
Result<MemoryPlan> make_plan(const EngineConfig& config, const EngineLimits& limits, const ModelConfig& model, uint64_t weight_bytes, DType weight_dtype,
                             const Device& device);

}  // namespace tdl
