// checkpoint and end_pass: where a pass ends early, what is skipped then, and what never is.
#include "tests/kernels/host/gate.h"

namespace tdl::test {
namespace {

constexpr int32_t kCancelled = static_cast<int32_t>(Code::cancelled);

struct Control {
  std::atomic<uint64_t> cancelled_through{0};
  std::atomic<int32_t> outcome{0}, earlier{0};
  PassControl of(uint64_t ticket, bool depends = false) { return {&cancelled_through, ticket, &outcome, depends ? &earlier : nullptr}; }
};

// A pass of two stages, a checkpoint before each, and a copy and a stage behind it.
void enqueue_pass(Rig& rig, Trace& trace, const PassControl& control, uint32_t* copied) {
  static const uint32_t one = 1;
  REQUIRE(rig.device->checkpoint(control, *rig.stream).ok());
  REQUIRE(trace.stage(1, *rig.stream).ok());
  REQUIRE(rig.device->checkpoint(control, *rig.stream).ok());
  REQUIRE(trace.stage(2, *rig.stream).ok());
  REQUIRE(rig.device->copy_to_host(copied, reinterpret_cast<uintptr_t>(&one), 4, *rig.stream).ok());
  REQUIRE(rig.device->end_pass(*rig.stream).ok());
  REQUIRE(trace.stage(3, *rig.stream).ok());
}

std::vector<int32_t> run_pass(const PassControl& control) {
  Rig rig;
  Trace trace;
  uint32_t copied = 0;
  enqueue_pass(rig, trace, control, &copied);
  rig.finish();  // events are never skipped
  CHECK(copied == 1);
  return trace.numbers;
}

TEST_CASE("a pass that nothing ends runs whole and keeps its outcome") {
  Control control;
  control.cancelled_through = 4;
  CHECK(run_pass(control.of(5, true)) == std::vector<int32_t>{1, 2, 3});
  CHECK(control.outcome.load() == 0);
}

TEST_CASE("a cancelled pass ends at its next checkpoint; copies, events and what follows end_pass still run") {
  Control control;
  control.cancelled_through = 5;
  CHECK(run_pass(control.of(5)) == std::vector<int32_t>{3});
  CHECK(control.outcome.load() == kCancelled);
  CHECK(control.cancelled_through.load() == 5);
}

TEST_CASE("a pass ends with the code of the pass that it depends on") {
  Control control;
  control.earlier = static_cast<int32_t>(Code::device);
  CHECK(run_pass(control.of(5, true)) == std::vector<int32_t>{3});
  CHECK(control.outcome.load() == static_cast<int32_t>(Code::device));
}

TEST_CASE("a pass that has failed already ends and keeps its first outcome") {
  Control control;
  control.outcome = static_cast<int32_t>(Code::internal);
  control.cancelled_through = 9;
  CHECK(run_pass(control.of(5)) == std::vector<int32_t>{3});
  CHECK(control.outcome.load() == static_cast<int32_t>(Code::internal));
}

TEST_CASE("a pass cancelled while it runs ends between its stages") {
  Rig rig;
  Trace trace;
  Control control;
  Gate before, between;
  const PassControl pass = control.of(7);
  before.hold(*rig.stream);
  REQUIRE(rig.device->checkpoint(pass, *rig.stream).ok());
  REQUIRE(trace.stage(1, *rig.stream).ok());
  REQUIRE(rig.device->record(*rig.event, *rig.stream).ok());
  between.hold(*rig.stream);
  REQUIRE(rig.device->checkpoint(pass, *rig.stream).ok());
  REQUIRE(trace.stage(2, *rig.stream).ok());
  REQUIRE(rig.device->end_pass(*rig.stream).ok());
  REQUIRE(trace.stage(3, *rig.stream).ok());
  before.open();
  REQUIRE(rig.device->wait(*rig.event, UINT64_MAX).ok());
  control.cancelled_through = 7;
  between.open();
  rig.finish();
  CHECK(trace.numbers == std::vector<int32_t>{1, 3});
  CHECK(control.outcome.load() == kCancelled);
}

TEST_CASE("a graph launched in a pass that has ended is skipped whole") {
  Rig rig;
  Trace trace;
  Control control;
  REQUIRE(rig.device->begin_capture(*rig.stream).ok());
  REQUIRE(trace.stage(1, *rig.stream).ok());
  const std::unique_ptr<Graph> graph = std::move(rig.device->end_capture(*rig.stream)).value();
  control.cancelled_through = 1;
  REQUIRE(rig.device->checkpoint(control.of(1), *rig.stream).ok());
  REQUIRE(rig.device->launch(*graph, *rig.stream).ok());
  REQUIRE(rig.device->end_pass(*rig.stream).ok());
  rig.finish();
  CHECK(trace.numbers.empty());
  REQUIRE(rig.device->launch(*graph, *rig.stream).ok());
  rig.finish();
  CHECK(trace.numbers == std::vector<int32_t>{1});
}

TEST_CASE("of two passes in flight only the cancelled one ends, and the one that depends on it") {
  Rig rig;
  Trace trace;
  Gate gate;
  std::atomic<uint64_t> cancelled_through{0};
  std::atomic<int32_t> outcome[3] = {};
  gate.hold(*rig.stream);
  for (int32_t pass = 0; pass < 3; ++pass) {
    const PassControl control = {&cancelled_through, static_cast<uint64_t>(pass) + 1, &outcome[pass], pass == 1 ? &outcome[0] : nullptr};
    REQUIRE(rig.device->checkpoint(control, *rig.stream).ok());
    REQUIRE(trace.stage(pass, *rig.stream).ok());
    REQUIRE(rig.device->end_pass(*rig.stream).ok());
  }
  cancelled_through = 1;
  gate.open();
  rig.finish();
  CHECK(trace.numbers == std::vector<int32_t>{2});
  CHECK(outcome[0].load() == kCancelled);
  CHECK(outcome[1].load() == kCancelled);
  CHECK(outcome[2].load() == 0);
}

}  // namespace
}  // namespace tdl::test
