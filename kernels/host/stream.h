// A host stream: a ring of ops and one thread, the leader, that runs them in order.  The leader starts with the first op, so that a
// stream that only records costs no thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "kernels/core/os.h"
#include "kernels/device.h"
#include "kernels/host/await.h"
#include "kernels/host/graph.h"
#include "kernels/host/op.h"

namespace tdl::host {

// One thread at a time may call; which one does not matter.  Nothing here waits for the leader, except push() on a full ring and
// the destructor.
class HostStream final : public Stream {
 public:
  static constexpr uint32_t kOps = 1024;  // ops enqueued and not yet run; a power of two

  static Result<std::unique_ptr<HostStream>> create(Pool& pool);  // out_of_memory
  ~HostStream() override;                                        // runs what is enqueued, then ends the leader

  // A stage call: recorded during a capture, else enqueued.  out_of_memory when the leader or a node cannot be had.
  Status submit(const Op& op);
  // Anything else: ready() fails during a capture (state, and the capture is lost) and when the leader cannot start; after it,
  // push() cannot fail.
  Status ready();
  void push(const Op& op);
  // A call that is refused: returned as it is; during a capture nothing of the recording is left then.
  Status refuse(Status why);

  Status begin_capture();
  Result<std::unique_ptr<Graph>> end_capture();

 private:
  explicit HostStream(Pool& pool) : pool_(pool) {}
  Status start();
  void lead() noexcept;

  Pool& pool_;
  os::Pages ring_;                    // Op[kOps]
  std::thread leader_;
  std::unique_ptr<HostGraph> recording_;  // during a capture
  Status lost_;                           // why the capture has failed
  Parking leader_waits_, caller_waits_;   // for pushed_ and run_
  alignas(64) std::atomic<uint32_t> pushed_{0};  // ops ever enqueued, modulo 2^32
  alignas(64) std::atomic<uint32_t> run_{0};     // ops ever run, likewise
};

}  // namespace tdl::host
