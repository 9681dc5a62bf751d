#include "runtime/engine_config.h"

#include <algorithm>

#include "kernels/core/paging.h"

namespace tdl {
namespace {

constexpr uint32_t kMostSeqs = 1u << 16, kMostRows = 1u << 20, kMostThreads = 1024;

uint32_t or_default(uint32_t value, uint32_t fallback) { return value ? value : fallback; }

Status check_modes(const EngineConfig& c) {
  if (c.kv_mode < 0 || c.kv_mode > 1) return fail(Code::invalid_argument, "kv_mode %d is none", c.kv_mode);
  if (c.graph_mode < 0 || c.graph_mode > 2) return fail(Code::invalid_argument, "graph_mode %d is none", c.graph_mode);
  if (c.flags & ~(kBatchInvariant | kRandomWeights | kValidate)) return fail(Code::invalid_argument, "flags 0x%x: unknown ones", c.flags);
  if (c.flags & kValidate) return fail(Code::unsupported, "TDL_ENGINE_VALIDATE is not there yet");
  if (c.num_threads > kMostThreads) return fail(Code::invalid_argument, "num_threads %u, at most %u", c.num_threads, kMostThreads);
  if (c.max_adapters) return fail(Code::unsupported, "max_adapters %u: LoRA adapters are not there yet", c.max_adapters);
  if (c.num_blocks && c.kv_memory_bytes) return fail(Code::invalid_argument, "num_blocks and kv_memory_bytes are both given");
  return {};
}

Result<Buckets> resolve_buckets(const EngineConfig& c, uint32_t max_seqs) {
  if (c.num_decode_buckets == 0) return default_buckets(max_seqs);
  if (!c.decode_buckets) return fail(Code::invalid_argument, "decode_buckets is null, num_decode_buckets is %u", c.num_decode_buckets);
  if (c.num_decode_buckets > kMostBuckets)
    return fail(Code::invalid_argument, "%u decode_buckets, at most %u", c.num_decode_buckets, kMostBuckets);
  Buckets buckets;
  for (uint32_t i = 0; i < c.num_decode_buckets; ++i) {
    const uint32_t size = c.decode_buckets[i];
    if (size == 0 || size > max_seqs) return fail(Code::invalid_argument, "decode_buckets[%u] is %u, outside 1 to max_seqs %u", i, size, max_seqs);
    if (i && size <= c.decode_buckets[i - 1]) return fail(Code::invalid_argument, "decode_buckets are not ascending at index %u", i);
    buckets.sizes[buckets.count++] = size;
  }
  if (buckets.sizes[buckets.count - 1] != max_seqs) return fail(Code::invalid_argument, "decode_buckets do not contain max_seqs %u", max_seqs);
  return buckets;
}

}  // namespace

Result<EngineLimits> resolve(const EngineConfig& c, const ModelConfig& model) {
  TDL_TRY(check_modes(c));
  EngineLimits limits{};
  limits.max_seqs = or_default(c.max_seqs, 64);
  limits.max_rows_per_seq = or_default(c.max_rows_per_seq, 1);
  limits.max_prefill_rows = or_default(c.max_prefill_rows, 2048);
  limits.max_context = or_default(c.max_context, model.max_positions);
  limits.block_size = or_default(c.block_size, 64);
  limits.max_lora_rank = or_default(c.max_lora_rank, 64);
  if (limits.max_seqs > kMostSeqs) return fail(Code::invalid_argument, "max_seqs %u, at most %u", limits.max_seqs, kMostSeqs);
  if (limits.max_prefill_rows > kMostRows) return fail(Code::invalid_argument, "max_prefill_rows %u, at most %u", limits.max_prefill_rows, kMostRows);
  const uint64_t decode_rows = uint64_t{limits.max_seqs} * limits.max_rows_per_seq;
  if (decode_rows > kMostRows)
    return fail(Code::invalid_argument, "max_seqs %u x max_rows_per_seq %u, at most %u rows", limits.max_seqs, limits.max_rows_per_seq, kMostRows);
  limits.max_outputs = or_default(c.max_outputs, static_cast<uint32_t>(decode_rows));
  if (limits.max_outputs > limits.max_rows())
    return fail(Code::invalid_argument, "max_outputs %u is more than the %u rows of the largest pass", limits.max_outputs, limits.max_rows());
  if (limits.max_context > model.max_positions)
    return fail(Code::range, "max_context %u is longer than the model's %u positions", limits.max_context, model.max_positions).needs(model.max_positions);
  const uint32_t size = limits.block_size;
  if (size != 16 && size != 32 && size != 64 && size != 128) return fail(Code::invalid_argument, "block_size %u is not 16, 32, 64 or 128", size);
  limits.max_table = blocks_for(limits.max_context, size);
  limits.kv_mode = static_cast<KvMode>(c.kv_mode);
  limits.graph_mode = static_cast<GraphMode>(c.graph_mode);
  limits.flags = c.flags;
  TDL_ASSIGN(limits.buckets, resolve_buckets(c, limits.max_seqs));
  return limits;
}

}  // namespace tdl
