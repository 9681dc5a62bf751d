// Events: pending from their record on, waited for from any thread, recorded again.
#include "kernels/core/os.h"
#include "tests/kernels/host/gate.h"

namespace tdl::test {
namespace {

bool done(Rig& rig, const Event& event) { return std::move(rig.device->done(event)).value(); }

TEST_CASE("an event that was never recorded is done") {
  Rig rig;
  CHECK(done(rig, *rig.event));
  CHECK(rig.device->wait(*rig.event, 0).ok());
}

TEST_CASE("an event is pending until the stream has passed it, and wait says so when its time is over") {
  Rig rig;
  Gate gate;
  gate.hold(*rig.stream);
  REQUIRE(rig.device->record(*rig.event, *rig.stream).ok());
  CHECK_FALSE(done(rig, *rig.event));
  CHECK(rig.device->wait(*rig.event, 0).code() == Code::pending);
  for (const uint64_t timeout : {1000ull, 200'000ull, 20'000'000ull}) {
    const uint64_t begin = os::now_ns();
    CHECK(rig.device->wait(*rig.event, timeout).code() == Code::pending);
    CHECK(os::now_ns() - begin >= timeout);
  }
  gate.open();
  CHECK(rig.device->wait(*rig.event, UINT64_MAX).ok());
  CHECK(done(rig, *rig.event));
  CHECK(rig.device->wait(*rig.event, 0).ok());
}

TEST_CASE("an event recorded again is pending for its latest record, whatever became of earlier ones") {
  Rig rig;
  Gate first, second;
  first.hold(*rig.stream);
  REQUIRE(rig.device->record(*rig.event, *rig.stream).ok());
  second.hold(*rig.stream);
  REQUIRE(rig.device->record(*rig.event, *rig.stream).ok());
  first.open();
  CHECK(rig.device->wait(*rig.event, 5'000'000).code() == Code::pending);
  CHECK_FALSE(done(rig, *rig.event));
  second.open();
  CHECK(rig.device->wait(*rig.event, UINT64_MAX).ok());
}

TEST_CASE("waiting threads are woken, however the wait and the record fall") {
  Rig rig;
  std::atomic<uint32_t> failures{0};
  for (int round = 0; round < 200; ++round) {
    Gate gate;
    gate.hold(*rig.stream);
    REQUIRE(rig.device->record(*rig.event, *rig.stream).ok());
    std::vector<std::thread> waiters;
    for (int i = 0; i < 2; ++i)
      waiters.emplace_back([&] { failures += !rig.device->wait(*rig.event, round % 2 ? UINT64_MAX : 60'000'000'000).ok(); });
    if (round % 4 >= 2) std::this_thread::sleep_for(std::chrono::microseconds(round * 2));
    gate.open();
    for (std::thread& waiter : waiters) waiter.join();
  }
  CHECK(failures.load() == 0);
}

TEST_CASE("an event may be destroyed as soon as it is done") {
  Rig rig;
  for (int round = 0; round < 300; ++round) {
    std::unique_ptr<Event> event = std::move(rig.device->create_event()).value();
    REQUIRE(rig.device->record(*event, *rig.stream).ok());
    while (!done(rig, *event)) {
    }
  }
}

TEST_CASE("elapsed_ns is the time between two events on a stream") {
  Rig rig;
  const std::unique_ptr<Event> from = std::move(rig.device->create_event()).value();
  Gate gate;
  REQUIRE(rig.device->record(*from, *rig.stream).ok());
  gate.hold(*rig.stream);
  REQUIRE(rig.device->record(*rig.event, *rig.stream).ok());
  REQUIRE(rig.device->wait(*from, UINT64_MAX).ok());
  const uint64_t begin = os::now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const uint64_t slept = os::now_ns() - begin;
  gate.open();
  REQUIRE(rig.device->wait(*rig.event, UINT64_MAX).ok());
  CHECK(rig.device->elapsed_ns(*from, *rig.event) >= slept);
  CHECK(rig.device->elapsed_ns(*rig.event, *from) == 0);
}

}  // namespace
}  // namespace tdl::test
