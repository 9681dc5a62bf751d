// Pool: every item once, from any caller, with any number of threads.
#include "kernels/host/pool.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/kernels/host/rig.h"
#include "tests/support/fault.h"

namespace tdl::test {
namespace {

TEST_CASE("for_each calls every item once and returns when all are done") {
  for (const uint32_t threads : {1u, 2u, 3u, 4u}) {
    const std::unique_ptr<host::Pool> pool = std::move(host::Pool::create(threads)).value();
    CHECK(pool->threads() == threads);
    for (int round = 0; round < 300; ++round) {
      const uint32_t items = static_cast<uint32_t>(round % 70);
      std::vector<uint32_t> calls(items, 0);  // not atomic: an item called twice at a time would be a race
      pool->for_each(items, [&](uint32_t item) { ++calls[item]; });
      CHECK(std::all_of(calls.begin(), calls.end(), [](uint32_t count) { return count == 1; }));
    }
  }
}

TEST_CASE("several callers may use one pool at a time") {
  const std::unique_ptr<host::Pool> pool = std::move(host::Pool::create(3)).value();
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> callers;
  for (uint32_t caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        std::vector<uint32_t> calls(40, 0);
        pool->for_each(40, [&](uint32_t item) { ++calls[item]; });
        for (const uint32_t count : calls) wrong += count != 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("workers that have parked are woken by the next job") {
  const std::unique_ptr<host::Pool> pool = std::move(host::Pool::create(2)).value();
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    // Both threads must be in it at once, or it never ends.
    std::atomic<uint32_t> inside{0};
    pool->for_each(2, [&](uint32_t) {
      ++inside;
      while (inside.load() < 2) std::this_thread::yield();
    });
    CHECK(inside.load() == 2);
  }
}

TEST_CASE("a thread that cannot be started is out_of_memory, and those before it end") {
  for (const int32_t countdown : {0, 1, 2}) {
    const Fault fault(os::Site::start_thread, countdown);
    const auto pool = host::Pool::create(4);
    CHECK(pool.status().code() == Code::out_of_memory);
    CHECK(fault.hits() == 1);
  }
  const Fault fault(os::Site::start_thread);
  CHECK(host_device(2).status().code() == Code::out_of_memory);
}

}  // namespace
}  // namespace tdl::test
