// An engine: the model on its device, the KV cache, the metadata block, the captured graphs, and what passes share.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/engine_config.h"
#include "runtime/graphs/graph_cache.h"
#include "runtime/kv/block_pool.h"
#include "runtime/model/forward.h"
#include "runtime/model/weights.h"
#include "runtime/plan.h"
#include "runtime/step/metadata.h"
#include "runtime/step/validate.h"
#include "runtime/tickets.h"

namespace tdl {

class Pass;

struct EngineStats {
  uint32_t graphs, free_blocks;
  uint64_t graph_bytes, graph_capture_ns, graph_replays, graph_failures, eager_passes, passes, rows, uploaded_bytes;
};

class Engine {
 public:
  // Not found, io, format, unsupported and out_of_memory name what they are about; nothing is left of a failed one.
  static Result<std::unique_ptr<Engine>> create(const EngineConfig& config, const Source& source);
  static Result<MemoryPlan> plan(const EngineConfig& config, const Source& source);
  // Cancels what is in flight and waits for it.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const ModelConfig& model() const { return config_; }
  const EngineLimits& limits() const { return limits_; }
  const MemoryPlan& memory() const { return plan_; }
  const char* device_name() const { return device_->name(); }

  // ---- any thread ----
  EngineStats stats() const;
  void cancel() {
    const uint64_t through = tickets_.last();
    uint64_t before = cancelled_through_.load(std::memory_order_relaxed);
    while (before < through && !cancelled_through_.compare_exchange_weak(before, through, std::memory_order_release)) {
    }  // never backwards: two threads may cancel at once
  }
  Status wait(uint64_t ticket, uint64_t timeout_ns, ResultRequest* request) { return tickets_.wait(ticket, timeout_ns, request); }

  // ---- KV blocks; one thread at a time ----
  Status kv_alloc(int32_t* blocks, uint32_t count);
  Status kv_retain(const int32_t* blocks, uint32_t count);
  Status kv_release(const int32_t* blocks, uint32_t count);
  Status kv_copy(const int32_t* from, const int32_t* to, uint32_t count);

  // A hash of all that a refused call must leave as it was: block, stagings, KV, reference counts, tickets, counters.  For tests; waits
  // until the device is idle.
  uint64_t digest();

 private:
  friend class Pass;
  Engine() = default;
  Status start(const EngineConfig& config, const Source& source);
  Status needs_pool() const;
  void log(LogLevel level, const char* format, ...) const;

  // The graphs that decode passes of `rows_per_seq` rows and at most `max_seqs` sequences can need.
  void capture(uint32_t rows_per_seq, uint32_t max_seqs);
  void capture_one(const GraphKey& key);
  Result<std::unique_ptr<Graph>> record(const ForwardArgs& args);
  // Runs every shape once over an empty metadata block: a device that wants that chooses algorithms and loads kernels now.
  Status warm_up();
  PassShape decode_shape(const GraphKey& key) const;
  ForwardArgs forward_args(const PassShape& shape) const;

  ModelConfig config_;
  EngineLimits limits_{};
  MemoryPlan plan_;
  LogFunction log_;
  // Declared so that streams go first, then memory, then the device.
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceMemory> arena_;
  Weights weights_;
  Model model_{};
  Activations activations_;
  Outputs outputs_;
  std::unique_ptr<BlockPool> pool_;
  std::unique_ptr<StepScratch> scratch_;
  std::unique_ptr<MetadataBlock> block_;
  Tickets tickets_;
  GraphCache<ForwardArgs> graphs_;
  std::unique_ptr<Event> idle_;  // digest's
  StepLimits step_limits_{};
  std::vector<uint8_t> live_outputs_, fresh_live_outputs_;  // of the last submit, of the fresh upload

  // The upload that the next submit takes, and the pass it belongs to.
  const Pass* fresh_ = nullptr;
  const Pass* mapped_ = nullptr;  // whose map() gave out the next staging
  PreviousOutputs previous_;      // of the last submit
  uint64_t uploads_ = 0, submitted_uploads_ = 0;  // uploads so far; at the last submit

  std::atomic<uint64_t> cancelled_through_{0};
  std::atomic<uint64_t> capture_ns_{0}, replays_{0}, failures_{0}, eager_{0}, passes_{0}, rows_{0}, uploaded_bytes_{0};
  std::unique_ptr<Stream> stream_, capture_stream_;
};

}  // namespace tdl
