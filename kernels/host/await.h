// How threads of the host device wait for each other: they look for some tens of microseconds, then park.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "kernels/core/os.h"

namespace tdl::host {

// Longer than the gap between two stages of a pass, shorter than anything that a user could call burning a core.
inline constexpr uint64_t kSpinNs = 30'000;

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as ready() is; false when it was not for `limit_ns`.
template <class Ready>
bool spin(uint64_t limit_ns, const Ready& ready) noexcept {
  const uint64_t begin = os::now_ns();
  do {
    for (int look = 0; look < 16; ++look) {
      if (ready()) return true;
      relax();
    }
  } while (os::now_ns() - begin < limit_ns);
  return ready();
}

// Where threads wait for a condition on atomics.  Not std::atomic::wait: its waiters are one table for the whole process.
class Parking {
 public:
  // Returns when ready() is true.
  template <class Ready>
  void wait(const Ready& ready) noexcept {
    if (spin(kSpinNs, ready)) return;
    std::unique_lock lock(mutex_);
    parked_.fetch_add(1);
    changed_.wait(lock, ready);
    parked_.fetch_sub(1);
  }

  // To be called after every change that can make a condition true.  The change and the loads in ready() must be sequentially
  // consistent: then either a thread about to park is counted here, or it sees the change.  Costs a load when none is parked.
  void notify() noexcept {
    if (parked_.load() == 0) return;
    { const std::lock_guard lock(mutex_); }  // it has looked before and waits now, or will look after this
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint32_t> parked_{0};
};

}  // namespace tdl::host
