// The compute threads of a host device.  Whoever runs a stage (a stream's leader) shares its items with them.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/core/status.h"
#include "kernels/host/await.h"
#include "kernels/host/isa/inner.h"

namespace tdl::host {

// Invariants: state_ is odd while a job is open, even otherwise.  function_, context_ and items_ are written only while state_ is
// even and active_ is 0, and read only by threads counted in active_ that have seen an odd state_.
class Pool {
 public:
  // `threads` >= 1 counts the leader: one less is started.  out_of_memory when one cannot be; none is left running then.
  static Result<std::unique_ptr<Pool>> create(uint32_t threads, const InnerLoops& loops = best_inner_loops());
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();  // joins; no for_each may be running

  uint32_t threads() const noexcept { return static_cast<uint32_t>(workers_.size()) + 1; }
  const InnerLoops& loops() const noexcept { return *loops_; }  // what this device computes with

  // Calls f(i) once for every i < items, from any of the threads in any order, and returns when all have returned.  f must not throw
  // and must not depend on the order.  Any thread may call it; while the workers serve another caller, the caller works alone.
  template <class F>
  void for_each(uint32_t items, const F& f) noexcept {
    run(items, [](const void* context, uint32_t item) { (*static_cast<const F*>(context))(item); }, &f);
  }

 private:
  using Function = void (*)(const void* context, uint32_t item);

  Pool() = default;
  void run(uint32_t items, Function function, const void* context) noexcept;
  void take_items() noexcept;
  void work() noexcept;

  const InnerLoops* loops_ = nullptr;
  std::vector<std::thread> workers_;
  Function function_ = nullptr;
  const void* context_ = nullptr;
  uint32_t items_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic_flag busy_;                        // a caller owns the workers
  Parking workers_wait_, leader_waits_;         // for state_ and active_
  alignas(64) std::atomic<uint32_t> state_{0};   // odd: a job is open
  alignas(64) std::atomic<uint32_t> next_{0};    // first item that nobody has taken
  alignas(64) std::atomic<uint32_t> active_{0};  // workers that may be reading the job
};

}  // namespace tdl::host
