// Ops of the tests' own, for looking at streams from inside: one that waits to be let through, one that leaves a trace.
#pragma once
#include <atomic>
#include <thread>
#include <vector>

#include "kernels/host/pool.h"
#include "kernels/host/stream.h"
#include "tests/kernels/host/rig.h"

namespace tdl::test {

// Holds a stream up until open(), or until it is destroyed.
class Gate {
 public:
  ~Gate() { open(); }
  void hold(Stream& stream) {
    auto& queue = static_cast<host::HostStream&>(stream);
    REQUIRE(queue.ready().ok());
    queue.push(host::make_op(host::OpKind::always, host::run_with<Args, pass>, Args{new Flag(open_)}));
  }
  void open() { open_->store(true); }

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  struct Args {
    Flag* open;  // the op's own share: the gate may be gone before it has run
  };
  static void pass(const Args& args, host::Pool&) {
    const std::unique_ptr<Flag> open(args.open);
    while (!(*open)->load()) std::this_thread::yield();
  }
  Flag open_ = std::make_shared<std::atomic<bool>>(false);
};

// A stage that appends a number to a list.
class Trace {
 public:
  Status stage(int32_t number, Stream& stream) {
    return static_cast<host::HostStream&>(stream).submit(
        host::make_op(host::OpKind::stage, host::run_with<Args, append>, Args{this, number}));
  }
  std::vector<int32_t> numbers;  // read it when the stream has finished

 private:
  struct Args {
    Trace* trace;
    int32_t number;
  };
  static void append(const Args& args, host::Pool&) { args.trace->numbers.push_back(args.number); }
};

}  // namespace tdl::test
