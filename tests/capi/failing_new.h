// A global operator new that can be told to fail.  A program that links it has no other.
#pragma once

namespace tdl::test {

// While it lives, the `nth` allocation (1 = the next) of any thread fails, once.
class FailingNew {
 public:
  explicit FailingNew(long nth);
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  ~FailingNew();
  bool hit() const;
  long seen() const;  // allocations so far
};

}  // namespace tdl::test
