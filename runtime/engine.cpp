#include "runtime/engine.h"

#include <cfenv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "runtime/device_choice.h"

namespace tdl {
namespace {

// Rotary frequencies and the like are computed on the caller's thread: a host that rounds differently must not change our bits.
class DefaultRounding {
 public:
  DefaultRounding() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultRounding() { std::fesetenv(&callers_); }
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  std::fenv_t callers_;
};

// What is known before anything is loaded: the model's shape, the device, its checkpoint's headers (unless weights are random) and the
// places of everything.
struct Opened {
  ModelConfig model;
  EngineLimits limits{};
  std::unique_ptr<Device> device;
  std::string note;
  std::unique_ptr<Checkpoint> checkpoint;
  WeightPlan weights;
  MemoryPlan plan;
};

Result<Opened> open_model(const EngineConfig& config, const Source& source) {
  Opened opened;
  TDL_ASSIGN(opened.model, load_config(source));
  TDL_ASSIGN(opened.limits, resolve(config, opened.model));
  TDL_ASSIGN(DeviceChoice choice, choose_device(config));
  opened.device = std::move(choice.device);
  opened.note = std::move(choice.note);
  if (!(config.flags & kRandomWeights)) {
    TDL_ASSIGN(Checkpoint checkpoint, Checkpoint::open(source, "model"));
    opened.checkpoint = std::make_unique<Checkpoint>(std::move(checkpoint));
  }
  TDL_ASSIGN(opened.weights, WeightPlan::make(opened.model, *opened.device, opened.checkpoint.get()));
  if (opened.checkpoint) TDL_TRY(opened.checkpoint->check_all_taken(ignored_tensors(opened.model.tied_head)));
  TDL_ASSIGN(opened.plan, make_plan(config, opened.limits, opened.model, opened.weights.bytes(), opened.weights.embed().dtype, *opened.device));
  return opened;
}

}  // namespace

Result<MemoryPlan> Engine::plan(const EngineConfig& config, const Source& source) {
  const DefaultRounding rounding;
  TDL_ASSIGN(Opened opened, open_model(config, source));
  return std::move(opened.plan);
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineConfig& config, const Source& source) {
  const DefaultRounding rounding;
  std::unique_ptr<Engine> engine(new Engine);
  TDL_TRY(engine->start(config, source));
  return engine;
}

Status Engine::start(const EngineConfig& config, const Source& source) {
  log_ = config.log;
  const auto progress = [&config](float fraction, std::string_view stage) { return config.progress && config.progress(fraction, stage); };
  TDL_ASSIGN(Opened opened, open_model(config, source));
  config_ = std::move(opened.model);
  limits_ = opened.limits;
  device_ = std::move(opened.device);
  plan_ = opened.plan;
  if (!opened.note.empty()) log(LogLevel::info, "%s", opened.note.c_str());
  if (opened.weights.narrows()) log(LogLevel::info, "weights that are stored in f32 are kept in bf16 on %s", device_->name());

  TDL_ASSIGN(arena_, device_->allocate(plan_.arena_bytes));
  const uint64_t arena = arena_->span().address;
  device_->set_workspace({arena + plan_.workspace_at, plan_.workspace_bytes});
  TDL_ASSIGN(stream_, config.callers_stream ? device_->adopt_stream(config.callers_stream) : device_->create_stream());
  TDL_ASSIGN(capture_stream_, device_->create_stream());
  TDL_ASSIGN(idle_, device_->create_event());
  activations_ = plan_.activations_at(arena);
  outputs_ = plan_.outputs_at(arena, limits_.max_outputs);
  pool_ = std::make_unique<BlockPool>(limits_.kv_mode == KvMode::pool ? plan_.num_blocks : 0);
  scratch_ = std::make_unique<StepScratch>(plan_.num_blocks, limits_.block_size);
  TDL_ASSIGN(MetadataBlock block, MetadataBlock::create(*device_, plan_.block, arena + plan_.block_at));
  block_ = std::make_unique<MetadataBlock>(std::move(block));
  TDL_TRY(tickets_.init(*device_, *stream_, outputs_, limits_.max_outputs, config_.vocab_size, config_.hidden_size));
  live_outputs_.resize(limits_.max_outputs);
  fresh_live_outputs_.resize(limits_.max_outputs);
  step_limits_ = {config_.vocab_size, limits_.block_size, plan_.num_blocks, limits_.max_context, config_.max_positions, limits_.max_outputs, 0, false,
                  limits_.buckets};

  TDL_TRY(load_weights(opened.weights, opened.checkpoint.get(), *device_, *stream_, arena + plan_.weights_at,
                       [&](float fraction) { return progress(fraction, "weights"); }));
  weights_ = opened.weights.bind(arena + plan_.weights_at);
  model_ = {&config_, &weights_, arena + plan_.kv_at, plan_.kv.layer_bytes(plan_.num_blocks), plan_.kv_dtype, limits_.block_size,
            1.0f / std::sqrt(static_cast<float>(config_.head_dim))};

  // The stream's threads start with its first work: a refusal of theirs belongs here, not in the first pass.
  TDL_TRY(device_->record(*idle_, *stream_));
  TDL_TRY(device_->wait(*idle_, UINT64_MAX));
  if (device_->traits().warm_up) TDL_TRY(warm_up());
  if (limits_.graph_mode == GraphMode::at_create) {
    for (uint32_t rows = 1; rows <= limits_.max_rows_per_seq; ++rows) {
      if (progress(static_cast<float>(rows - 1) / static_cast<float>(limits_.max_rows_per_seq), "graphs"))
        return fail(Code::cancelled, "creation was cancelled");
      capture(rows, limits_.max_seqs);
    }
  }
  log(LogLevel::info, "%s on %s: %llu MB of weights, %u KV blocks of %u tokens, %u graphs", config_.architecture.c_str(), device_->name(),
      static_cast<unsigned long long>(plan_.weights >> 20), plan_.num_blocks, limits_.block_size, graphs_.graphs());
  return {};
}

Engine::~Engine() {
  cancelled_through_.store(UINT64_MAX, std::memory_order_release);
}

void Engine::log(LogLevel level, const char* format, ...) const {
  if (!log_) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0) log_(level, std::string_view(line, std::strlen(line)));
}

EngineStats Engine::stats() const {
  const auto get = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {graphs_.graphs(), pool_->free_blocks(), graphs_.bytes(), get(capture_ns_), get(replays_), get(failures_), get(eager_), get(passes_), get(rows_),
          get(uploaded_bytes_)};
}

}  // namespace tdl
