// A device: memory, streams, events, capture and the stage table.  host_device() is the CPU; others come through their own door.
// Calls that enqueue return at once; work on one stream runs in the order it was enqueued.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "kernels/core/dtype.h"
#include "kernels/core/span.h"
#include "kernels/core/status.h"
#include "kernels/stages.h"

namespace tdl {

// An ordered queue of device work.  Owned by whoever created it; must not outlive its device.
class Stream {
 public:
  virtual ~Stream() = default;
};

// A point in a stream.
class Event {
 public:
  virtual ~Event() = default;
};

// Recorded stage calls, replayed verbatim with the arguments of the recording.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual uint64_t bytes() const = 0;  // memory it holds
};

// Memory of the device, or host memory that it can copy from and to without a further copy ("pinned").  Zeroed when new.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual DeviceBytes span() const = 0;
};
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  virtual std::byte* data() const = 0;
  virtual uint64_t bytes() const = 0;
};

// How a pass ends before its last layer.  Lives as long as any work that names it.
struct PassControl {
  std::atomic<uint64_t>* cancelled_through;    // tickets up to this one are to end at their next boundary
  uint64_t ticket;
  std::atomic<int32_t>* outcome;               // Code of the pass; 0 until it fails
  const std::atomic<int32_t>* depends_on;      // null, or the outcome of the pass whose sampled tokens feed this one
};

// What an engine plans with: fixed for the device's life.
struct DeviceTraits {
  uint32_t kv_percent;             // of the memory left beside everything else, what the KV cache takes at most when its size is not given
  uint32_t split_rows;             // rows of one pass whose attention may be split over chunks of KV ...
  uint32_t split_chunks;           // ... and the chunks of all of them: what AttentionArgs::partials has room for
  uint64_t workspace_bytes;        // of the stages that run on one stream; given through set_workspace
  uint64_t context_bytes;          // what the device takes for itself beside the arena: an estimate
  uint64_t graph_bytes_per_stage;  // likewise, of a captured graph
  bool host_memory;                // device memory is host memory: host_view works
  bool warm_up;                    // every shape is to run once before a capture or a pass: kernels load and algorithms are chosen then
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const char* name() const = 0;         // for people: "cpu", "cuda:0 NVIDIA H200"
  virtual DeviceTraits traits() const = 0;
  virtual DType default_kv_dtype(DType weights) const = 0;
  virtual bool supports_kv_dtype(DType) const = 0;
  virtual DType matrix_dtype(DType stored) const = 0;   // what a matrix that a checkpoint stores so is kept in
  virtual DType operand_dtype(DType matrix) const = 0;  // stages.h says what an operand is
  // The first matrix shape that this device cannot take is named; ok for the others.
  virtual Status check_matrix(const char* name, const Matrix& matrix) const = 0;
  // The largest row count whose products take the same kernels as those of rows + 1 rows.
  virtual uint32_t next_row_class(uint32_t rows) const = 0;
  virtual uint64_t free_bytes() const = 0;      // 0 = unknown
  virtual const StageTable& stages() const = 0;

  virtual Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) = 0;
  virtual Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t bytes) = 0;
  // The host's own view of device memory, for loading without a copy; null where the host cannot see it.
  virtual void* host_view(uint64_t address) = 0;
  // traits().workspace_bytes for the stages from here on; one stream at a time runs stages.
  virtual void set_workspace(DeviceBytes workspace) = 0;

  virtual Result<std::unique_ptr<Stream>> create_stream() = 0;
  // A stream that the host made and keeps (a CUstream); unsupported where there is no such thing.
  virtual Result<std::unique_ptr<Stream>> adopt_stream(void* native) = 0;
  virtual Result<std::unique_ptr<Event>> create_event() = 0;

  // `source` must stay as it is until the stream has passed the copy.
  virtual Status copy_to_device(uint64_t destination, const void* source, uint64_t bytes, Stream&) = 0;
  virtual Status copy_to_host(void* destination, uint64_t source, uint64_t bytes, Stream&) = 0;

  virtual Status record(Event&, Stream&) = 0;
  virtual Result<bool> done(const Event&) = 0;  // any thread; true for an event never recorded
  // Any thread.  ok when the stream has passed the event, pending when timeout_ns went by first (UINT64_MAX = no limit).
  virtual Status wait(const Event&, uint64_t timeout_ns) = 0;
  virtual uint64_t elapsed_ns(const Event& from, const Event& to) = 0;  // both done

  // Between the two, stage calls on the stream are recorded and not run.  After a failure nothing is left of the recording.
  virtual Status begin_capture(Stream&) = 0;
  virtual Result<std::unique_ptr<Graph>> end_capture(Stream&) = 0;
  virtual Status launch(Graph&, Stream&) = 0;  // the graph must outlive the launch

  // A boundary of an eager pass.  When the pass is to end here, its outcome is set, and what follows up to end_pass does nothing:
  // enqueued work is skipped (the host device) or the call returns cancelled (devices that cannot stop what is enqueued).
  virtual Status checkpoint(const PassControl&, Stream&) = 0;
  virtual Status end_pass(Stream&) = 0;
};

// The CPU with `threads` compute threads (0 = one per usable core).  out_of_memory when threads cannot be started.
Result<std::unique_ptr<Device>> host_device(uint32_t threads);

// The NVIDIA GPU with this number, in the context of `callers_stream` (a CUstream) when that is not null, else in the GPU's primary
// context.  unsupported, saying why, when this build or machine has none: no CUDA, driver, such GPU, kernels for it, or cuBLASLt.
Result<std::unique_ptr<Device>> cuda_device(uint32_t ordinal, void* callers_stream = nullptr);

}  // namespace tdl
