#include "tests/support/fault.h"

#include <atomic>

namespace {

std::atomic<int32_t> failing_site{-1}, calls_left{0}, calls_failed{0};
std::atomic<bool> keep_failing{false};

}  // namespace

// Any thread.
extern "C" int32_t treadle_test_fault(int32_t site) {
  if (failing_site.load() != site) return 0;
  const int32_t left = calls_left.fetch_sub(1);
  if (left > 0 || (left < 0 && !keep_failing.load())) return 0;
  calls_failed.fetch_add(1);
  return 1;
}

namespace tdl::test {

Fault::Fault(os::Site site, int32_t countdown, bool forever) {
  calls_left.store(countdown);
  calls_failed.store(0);
  keep_failing.store(forever);
  failing_site.store(static_cast<int32_t>(site));
}

Fault::~Fault() { failing_site.store(-1); }

int32_t Fault::hits() const { return calls_failed.load(); }

}  // namespace tdl::test
