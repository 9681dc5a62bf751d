#include "kernels/host/pool.h"

#include <cfenv>

#include "kernels/core/os.h"

namespace tdl::host {

Result<std::unique_ptr<Pool>> Pool::create(uint32_t threads, const InnerLoops& loops) {
  std::unique_ptr<Pool> pool(new Pool());
  pool->loops_ = &loops;
  pool->workers_.reserve(threads - 1);
  for (uint32_t i = 1; i < threads; ++i) {
    std::thread worker;
    TDL_TRY(os::start_thread(&worker, [](void* self) { static_cast<Pool*>(self)->work(); }, pool.get()));
    pool->workers_.push_back(std::move(worker));
  }
  return pool;
}

Pool::~Pool() {
  stop_.store(true);
  state_.fetch_add(2);
  workers_wait_.notify();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::take_items() noexcept {
  for (uint32_t item = next_.fetch_add(1); item < items_; item = next_.fetch_add(1)) function_(context_, item);
}

void Pool::run(uint32_t items, Function function, const void* context) noexcept {
  if (items <= 1 || workers_.empty() || busy_.test_and_set(std::memory_order_acquire)) {
    for (uint32_t item = 0; item < items; ++item) function(context, item);
    return;
  }
  function_ = function;
  context_ = context;
  items_ = items;
  next_.store(0);
  state_.fetch_add(1);  // open
  workers_wait_.notify();
  take_items();
  // Closed before active_ is looked at: a worker that comes now either was counted before, or finds the job closed.
  state_.fetch_add(1);
  leader_waits_.wait([this] { return active_.load() == 0; });
  busy_.clear(std::memory_order_release);
}

void Pool::work() noexcept {
  std::fesetenv(FE_DFL_ENV);  // a host that flushes denormals or rounds differently must not change our bits
  uint32_t seen = 0;
  for (;;) {
    workers_wait_.wait([this, seen] { return state_.load() != seen; });
    seen = state_.load();
    if (stop_.load()) return;
    if (seen % 2 == 0) continue;
    active_.fetch_add(1);
    if (state_.load() % 2 == 1) take_items();
    if (active_.fetch_sub(1) == 1) leader_waits_.notify();
  }
}

}  // namespace tdl::host
