// Makes the operating system refuse: kernels/core/os asks the hook that fault.cpp defines before every call it wraps.
#pragma once
#include <cstdint>

#include "kernels/core/os.h"

namespace tdl::test {

// While it lives, calls of `site` fail: the one after `countdown` others, and with `forever` all that follow it.  One at a time.
class Fault {
 public:
  explicit Fault(os::Site site, int32_t countdown = 0, bool forever = false);
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  ~Fault();
  int32_t hits() const;  // calls that were made to fail
};

}  // namespace tdl::test
