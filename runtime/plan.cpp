#include "runtime/plan.h"

#include <algorithm>

namespace tdl {
namespace {

constexpr uint64_t kArenaAlign = 256;
constexpr uint64_t kMostArena = uint64_t{1} << 62;

unsigned long long figure(uint64_t bytes) { return bytes; }

// Places that follow each other; `bytes` counts what a group of them takes.
class Arena {
 public:
  uint64_t place(uint64_t bytes, uint64_t* group) {
    const uint64_t at = at_;
    const uint64_t taken = align_up(bytes, kArenaAlign);
    at_ += taken;
    *group += taken;
    return at;
  }
  uint64_t end() const { return at_; }

 private:
  uint64_t at_ = 0;
};

Result<uint32_t> choose_blocks(const EngineConfig& c, const EngineLimits& limits, const KvGeometry& kv, uint64_t device_free, uint64_t other_bytes,
                               uint32_t percent) {
  const uint64_t per_block = kv.bytes_per_block();
  const uint64_t wanted = uint64_t{limits.max_seqs} * limits.max_table;
  if (!c.num_blocks && !c.kv_memory_bytes && device_free && other_bytes > device_free)
    return fail(Code::out_of_memory, "weights, activations and metadata take %llu bytes, %llu are free; lower max_prefill_rows, max_seqs or max_outputs",
                figure(other_bytes), figure(device_free)).needs(other_bytes);
  uint64_t blocks = wanted;
  if (c.num_blocks) {
    blocks = c.num_blocks;
  } else if (c.kv_memory_bytes) {
    blocks = c.kv_memory_bytes / per_block;
  } else if (device_free) {
    const uint64_t room = device_free > other_bytes ? device_free - other_bytes : 0;
    blocks = std::min(wanted, (room / 100 * percent + room % 100 * percent / 100) / per_block);
  }
  blocks = std::min<uint64_t>(blocks, UINT64_MAX / 2 / per_block);
  if (blocks > INT32_MAX) return fail(Code::limit, "%s: %llu KV blocks, block numbers end at 2^31 - 1", c.num_blocks ? "num_blocks" : c.kv_memory_bytes ? "kv_memory_bytes" : "max_seqs x max_context",
                figure(blocks)).needs(blocks);
  if (blocks < limits.max_table) {
    const uint64_t needed = limits.max_table * per_block;
    return fail(Code::out_of_memory, "one sequence of %u tokens needs %u KV blocks (%llu bytes), there is room for %llu (%llu bytes); %s", limits.max_context, limits.max_table, figure(needed), figure(blocks), figure(blocks * per_block),
                c.num_blocks ? "raise num_blocks or lower max_context" : c.kv_memory_bytes ? "raise kv_memory_bytes or lower max_context"
                                                                                           : "lower max_context, or give num_blocks").needs(needed);
  }
  return static_cast<uint32_t>(blocks);
}

// Stages of one pass.
uint64_t stages_of(const ModelConfig& m) { return 6 * uint64_t{m.num_layers} + 2; }

}  // namespace

Activations MemoryPlan::activations_at(uint64_t arena) const {
  Activations a;
  a.hidden = {arena + hidden_at};
  a.normed = {arena + normed_at};
  a.qkv = {arena + qkv_at};
  a.attention = {arena + attention_at};
  a.gate_up = {arena + gate_up_at};
  a.inner = {arena + inner_at};
  a.cos_sin = {arena + cos_sin_at};
  a.partials = {arena + partials_at};
  a.tickets = {arena + tickets_at};
  a.max_chunks = max_chunks;
  return a;
}

Outputs MemoryPlan::outputs_at(uint64_t arena, uint32_t max_outputs) const {
  Outputs out;
  out.logits = {arena + logits_at};
  out.hidden = {arena + hidden_out_at};
  out.row_status = {arena + results_at};
  out.tokens = {arena + results_at + uint64_t{max_outputs} * sizeof(int32_t)};
  return out;
}

Result<MemoryPlan> make_plan(const EngineConfig& config, const EngineLimits& limits, const ModelConfig& m, uint64_t weight_bytes, DType weight_dtype,
                             const Device& device) {
  MemoryPlan plan;
  const DeviceTraits traits = device.traits();
  plan.kv_dtype = config.kv_dtype ? static_cast<DType>(config.kv_dtype) : device.default_kv_dtype(weight_dtype);
  if (config.kv_dtype < 0 || config.kv_dtype > 3) return fail(Code::invalid_argument, "kv_dtype %d is none", config.kv_dtype);
  if (!device.supports_kv_dtype(plan.kv_dtype)) return fail(Code::unsupported, "kv_dtype %s on device %s", name_of(plan.kv_dtype), device.name());
  plan.kv = {m.num_layers, m.num_kv_heads, m.head_dim, limits.block_size, size_of(plan.kv_dtype)};
  plan.device_free = device.free_bytes();
  plan.block = make_layout(limits.layout());

  const uint64_t rows = limits.max_rows(), outputs = limits.max_outputs, f32 = sizeof(float);
  const uint64_t qkv = uint64_t{m.num_heads + 2 * m.num_kv_heads} * m.head_dim;
  // Split attention serves some rows of the longest, up to a bound, and always one.
  const uint64_t chunks = (uint64_t{limits.max_context} + kAttentionChunk - 1) / kAttentionChunk;
  plan.max_chunks = static_cast<uint32_t>(std::max(chunks, std::min<uint64_t>(std::min<uint64_t>(rows, traits.split_rows) * chunks, traits.split_chunks)));

  Arena arena;
  plan.weights_at = arena.place(weight_bytes, &plan.weights);
  plan.hidden_at = arena.place(rows * m.hidden_size * f32, &plan.activations);
  plan.normed_at = arena.place(rows * m.hidden_size * f32, &plan.activations);
  plan.qkv_at = arena.place(rows * qkv * f32, &plan.activations);
  plan.attention_at = arena.place(rows * m.num_heads * m.head_dim * f32, &plan.activations);
  plan.gate_up_at = arena.place(rows * 2 * m.intermediate_size * f32, &plan.activations);
  plan.inner_at = arena.place(rows * m.intermediate_size * f32, &plan.activations);
  plan.cos_sin_at = arena.place(rows * m.head_dim * f32, &plan.activations);
  plan.logits_at = arena.place(outputs * m.vocab_size * f32, &plan.activations);
  plan.hidden_out_at = arena.place(outputs * m.hidden_size * f32, &plan.activations);
  plan.results_at = arena.place(outputs * (sizeof(int32_t) + sizeof(uint32_t)), &plan.activations);
  plan.partials_at = arena.place(plan.max_chunks * uint64_t{m.num_heads} * (m.head_dim + 2) * f32, &plan.workspace);
  plan.tickets_at = arena.place(rows * m.num_kv_heads * sizeof(uint32_t), &plan.workspace);
  plan.workspace_bytes = traits.workspace_bytes;
  plan.workspace_at = arena.place(traits.workspace_bytes, &plan.workspace);
  plan.block_at = arena.place(plan.block.bytes, &plan.metadata);
  plan.host_pinned = 2 * plan.block.bytes + kTickets * outputs * (sizeof(int32_t) + sizeof(uint32_t)) + load_ring_bytes(device);
  if (limits.graph_mode != GraphMode::off) plan.graphs_estimate = uint64_t{limits.buckets.count} * limits.max_rows_per_seq * stages_of(m) * traits.graph_bytes_per_stage;
  plan.context_estimate = traits.context_bytes;
  // On the host everything comes out of one memory; beside a GPU's, pinned memory does not count.
  const uint64_t beside = arena.end() + plan.graphs_estimate + (traits.host_memory ? plan.host_pinned : 0);
  TDL_ASSIGN(plan.num_blocks, choose_blocks(config, limits, plan.kv, plan.device_free, beside, traits.kv_percent));
  plan.kv_at = arena.place(plan.num_blocks * plan.kv.bytes_per_block(), &plan.kv_cache);
  plan.arena_bytes = arena.end();
  if (plan.arena_bytes > kMostArena) return fail(Code::out_of_memory, "%llu bytes cannot be addressed", figure(plan.arena_bytes)).needs(plan.arena_bytes);
  // Validation's bits and, with a pool, its reference counts and free list.
  plan.host_pageable = (uint64_t{plan.num_blocks} * limits.block_size + plan.num_blocks) / 8;
  if (limits.kv_mode == KvMode::pool) plan.host_pageable += uint64_t{plan.num_blocks} * 8;
  return plan;
}

}  // namespace tdl
