// What an engine is created with: the caller's wishes, and what they come to for a given model.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/core/dtype.h"
#include "kernels/core/status.h"
#include "runtime/load/config.h"
#include "runtime/step/buckets.h"
#include "runtime/step/layout.h"
#include "runtime/step/upload.h"

namespace tdl {

enum class GraphMode : int32_t { at_create = 0, on_demand = 1, off = 2 };
enum class KvMode : int32_t { caller = 0, pool = 1 };
enum class LogLevel : int32_t { info = 1, warning = 2 };

inline constexpr uint32_t kBatchInvariant = 1u << 0, kRandomWeights = 1u << 1, kValidate = 1u << 2;

using LogFunction = std::function<void(LogLevel, std::string_view)>;
using ProgressFunction = std::function<bool(float, std::string_view stage)>;  // true = stop

// Zero means the default everywhere (tdl_engine_config).
struct EngineConfig {
  std::string device;
  uint32_t max_seqs = 0, max_rows_per_seq = 0, max_prefill_rows = 0, max_outputs = 0, max_context = 0;
  uint32_t block_size = 0, num_blocks = 0;
  uint64_t kv_memory_bytes = 0;
  int32_t kv_dtype = 0, kv_mode = 0;
  uint32_t max_adapters = 0, max_lora_rank = 0, num_threads = 0;
  const uint32_t* decode_buckets = nullptr;
  uint32_t num_decode_buckets = 0;
  int32_t graph_mode = 0;
  uint32_t flags = 0;
  void* callers_stream = nullptr;  // a CUstream
  LogFunction log;            // may be empty
  ProgressFunction progress;  // may be empty
};

// Every value filled in and checked.
struct EngineLimits {
  uint32_t max_seqs, max_rows_per_seq, max_prefill_rows, max_outputs, max_context, block_size, max_lora_rank;
  uint32_t max_table;  // blocks of the longest sequence
  KvMode kv_mode;
  GraphMode graph_mode;
  uint32_t flags;
  Buckets buckets;

  uint32_t max_rows() const { return std::max(max_seqs * max_rows_per_seq, max_prefill_rows); }
  LayoutLimits layout() const {
    return {max_seqs, max_rows_per_seq, max_prefill_rows, max_outputs, max_table, false, false, false};
  }
};

// invalid_argument, range or unsupported, naming the field.
Result<EngineLimits> resolve(const EngineConfig& config, const ModelConfig& model);

}  // namespace tdl
