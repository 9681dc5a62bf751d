#include "kernels/host/event.h"

#include <algorithm>
#include <chrono>

#include "kernels/core/os.h"
#include "kernels/host/await.h"

namespace tdl::host {

// Whoever saw done() may destroy the event while reach() still holds the mutex: wait for it.
HostEvent::~HostEvent() { const std::lock_guard lock(mutex_); }

void HostEvent::reach(uint64_t record) {
  const std::lock_guard lock(mutex_);
  time_ns_.store(os::now_ns());
  reached_.store(record);
  changed_.notify_all();
}

Status HostEvent::wait(uint64_t timeout_ns) const {
  const uint64_t begin = os::now_ns();
  if (spin(std::min(timeout_ns, kSpinNs), [this] { return done(); })) return {};
  std::unique_lock lock(mutex_);
  if (timeout_ns > INT64_MAX / 2) {  // 146 years
    changed_.wait(lock, [this] { return done(); });
    return {};
  }
  const uint64_t spent = std::min(os::now_ns() - begin, timeout_ns);
  if (changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns - spent), [this] { return done(); })) return {};
  return fail(Code::pending, "not finished within %llu ns", static_cast<unsigned long long>(timeout_ns));
}

void record(const RecordArgs& args, Pool&) { args.event->reach(args.record); }

}  // namespace tdl::host
