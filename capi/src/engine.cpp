#include "treadle/engine.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "capi/src/boundary.h"
#include "capi/src/handles.h"

namespace {

using namespace tdl;
using namespace tdl::abi;

static_assert(TDL_F32 == static_cast<int>(DType::f32) && TDL_BF16 == static_cast<int>(DType::bf16) && TDL_F16 == static_cast<int>(DType::f16));
static_assert(TDL_GRAPHS_OFF == static_cast<int>(GraphMode::off) && TDL_KV_POOL == static_cast<int>(KvMode::pool));
static_assert(TDL_ENGINE_BATCH_INVARIANT == kBatchInvariant && TDL_ENGINE_RANDOM_WEIGHTS == kRandomWeights && TDL_ENGINE_VALIDATE == kValidate);
static_assert(TDL_LOG_INFO == static_cast<int>(LogLevel::info) && TDL_LOG_WARNING == static_cast<int>(LogLevel::warning));

// The caller's configuration as the runtime takes it, and the source it names.
struct Wishes {
  tdl_engine_config c{};
  EngineConfig config;
  Source directory;                // when a path was given
  const Source* source = nullptr;

  Status read(const tdl_engine_config* given) {
    TDL_TRY(read_struct(given, &c, "tdl_engine_config"));
    TDL_TRY(check_string(c.model_path, c.model_path_length, "model_path"));
    TDL_TRY(check_string(c.device, c.device_length, "device"));
    if ((c.model_path != nullptr) == (c.model_source != nullptr)) return fail(Code::invalid_argument, "give one of model_path and model_source");
    if (c.model_source) {
      TDL_TRY(check_handle(c.model_source, "tdl_source"));
      source = &c.model_source->source;
    } else {
      TDL_TRY(directory.add_directory({c.model_path, c.model_path_length}));
      source = &directory;
    }
    if (c.device) config.device.assign(c.device, c.device_length);
    config.max_seqs = c.max_seqs;
    config.max_rows_per_seq = c.max_rows_per_seq;
    config.max_prefill_rows = c.max_prefill_rows;
    config.max_outputs = c.max_outputs;
    config.max_context = c.max_context;
    config.block_size = c.block_size;
    config.num_blocks = c.num_blocks;
    config.kv_memory_bytes = c.kv_memory_bytes;
    config.kv_dtype = c.kv_dtype;
    config.kv_mode = c.kv_mode;
    config.max_adapters = c.max_adapters;
    config.max_lora_rank = c.max_lora_rank;
    config.num_threads = c.num_threads;
    config.decode_buckets = c.decode_buckets;
    config.num_decode_buckets = c.num_decode_buckets;
    config.graph_mode = c.graph_mode;
    config.flags = c.flags;
    config.callers_stream = c.cuda_stream;
    if (c.log) {
      config.log = [call = c.log, user = c.log_user](LogLevel level, std::string_view line) {
        call(user, static_cast<int32_t>(level), line.data(), line.size());
      };
    }
    if (c.progress) {
      config.progress = [call = c.progress, user = c.progress_user](float fraction, std::string_view stage) {
        return call(user, fraction, stage.data(), stage.size()) != 0;
      };
    }
    return {};
  }
};

Result<std::shared_ptr<Engine>> share(tdl_engine* engine) {
  TDL_TRY(check_handle(engine, "tdl_engine"));
  return engine->shell->share();
}

void copy_name(char* to, size_t capacity, const char* from) {
  const size_t length = std::min(std::strlen(from), capacity - 1);
  std::memcpy(to, from, length);
  to[length] = '\0';
}

tdl_engine_info describe(const Engine& engine) {
  tdl_engine_info info{};
  const ModelConfig& model = engine.model();
  const EngineLimits& limits = engine.limits();
  info.vocab_size = model.vocab_size;
  info.hidden_size = model.hidden_size;
  info.num_layers = model.num_layers;
  info.num_heads = model.num_heads;
  info.num_kv_heads = model.num_kv_heads;
  info.head_dim = model.head_dim;
  info.max_seqs = limits.max_seqs;
  info.max_rows_per_seq = limits.max_rows_per_seq;
  info.max_prefill_rows = limits.max_prefill_rows;
  info.max_outputs = limits.max_outputs;
  info.max_context = limits.max_context;
  info.block_size = limits.block_size;
  info.num_blocks = engine.memory().num_blocks;
  info.max_lora_rank = limits.max_lora_rank;
  static_assert(kMostBuckets == sizeof info.buckets / sizeof info.buckets[0]);
  info.num_buckets = limits.buckets.count;
  std::copy_n(limits.buckets.sizes, limits.buckets.count, info.buckets);
  info.num_eos = static_cast<uint32_t>(std::min(model.eos.size(), sizeof info.eos / sizeof info.eos[0]));
  std::copy_n(model.eos.begin(), info.num_eos, info.eos);
  info.kv_dtype = static_cast<int32_t>(engine.memory().kv_dtype);
  info.kv_mode = static_cast<int32_t>(limits.kv_mode);
  copy_name(info.architecture, sizeof info.architecture, model.architecture.c_str());
  copy_name(info.device, sizeof info.device, engine.device_name());
  return info;
}

}  // namespace

extern "C" {

void tdl_engine_config_init(tdl_engine_config* config, size_t struct_size) { init_struct(config, struct_size); }
void tdl_memory_plan_init(tdl_memory_plan* plan, size_t struct_size) { init_struct(plan, struct_size); }
void tdl_engine_info_init(tdl_engine_info* info, size_t struct_size) { init_struct(info, struct_size); }
void tdl_engine_stats_init(tdl_engine_stats* stats, size_t struct_size) { init_struct(stats, struct_size); }

tdl_status tdl_engine_plan(const tdl_engine_config* config, tdl_memory_plan* plan, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    Wishes wishes;
    TDL_TRY(wishes.read(config));
    tdl_memory_plan out;
    TDL_TRY(read_struct(plan, &out, "tdl_memory_plan"));
    TDL_ASSIGN(const MemoryPlan made, Engine::plan(wishes.config, *wishes.source));
    out.num_blocks = made.num_blocks;
    out.weights = made.weights;
    out.kv_cache = made.kv_cache;
    out.adapters = made.adapters;
    out.activations = made.activations;
    out.metadata = made.metadata;
    out.workspace = made.workspace;
    out.host_pinned = made.host_pinned;
    out.host_pageable = made.host_pageable;
    out.graphs_estimate = made.graphs_estimate;
    out.context_estimate = made.context_estimate;
    out.device_free = made.device_free;
    write_struct(plan, out);
    return {};
  });
}

tdl_status tdl_engine_create(const tdl_engine_config* config, tdl_engine** engine, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    if (!engine) return fail(Code::invalid_argument, "engine is null");
    Wishes wishes;
    TDL_TRY(wishes.read(config));
    auto handle = std::make_unique<tdl_engine>();
    TDL_ASSIGN(std::unique_ptr<Engine> made, Engine::create(wishes.config, *wishes.source));
    handle->shell = std::make_shared<EngineShell>(std::move(made));
    *engine = handle.release();
    return {};
  });
}

void tdl_engine_destroy(tdl_engine* engine) {
  if (!check_handle(engine, "tdl_engine").ok() || !engine->shell->ours()) return;
  engine->shell->close();
  engine->kind = Kind{};
  delete engine;
}

tdl_status tdl_engine_get_info(tdl_engine* engine, tdl_engine_info* info, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    tdl_engine_info out;
    TDL_TRY(read_struct(info, &out, "tdl_engine_info"));
    TDL_ASSIGN(const std::shared_ptr<Engine> shared, share(engine));
    write_struct(info, describe(*shared));
    return {};
  });
}

tdl_status tdl_engine_get_stats(tdl_engine* engine, tdl_engine_stats* stats, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    tdl_engine_stats out;
    TDL_TRY(read_struct(stats, &out, "tdl_engine_stats"));
    TDL_ASSIGN(const std::shared_ptr<Engine> shared, share(engine));
    const EngineStats now = shared->stats();
    out.graphs = now.graphs;
    out.free_blocks = now.free_blocks;
    out.adapters = 0;
    out.graph_bytes = now.graph_bytes;
    out.graph_capture_ns = now.graph_capture_ns;
    out.graph_replays = now.graph_replays;
    out.eager_passes = now.eager_passes;
    out.passes = now.passes;
    out.rows = now.rows;
    out.uploaded_bytes = now.uploaded_bytes;
    out.graph_failures = now.graph_failures;
    write_struct(stats, out);
    return {};
  });
}

void tdl_engine_cancel(tdl_engine* engine) {
  if (check_handle(engine, "tdl_engine").ok()) engine->shell->cancel();
}

}  // extern "C"
