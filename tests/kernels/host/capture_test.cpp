// Capture and replay; and that a pass has the same bits however it is run.
#include "tests/kernels/host/gate.h"
#include "tests/kernels/host/tiny_pass.h"

namespace tdl::test {
namespace {

std::unique_ptr<Graph> capture(Rig& rig, TinyPass& pass) {
  REQUIRE(rig.device->begin_capture(*rig.stream).ok());
  REQUIRE(pass.enqueue(rig.stages(), *rig.stream).ok());
  auto graph = rig.device->end_capture(*rig.stream);
  REQUIRE(graph.ok());
  return std::move(graph).value();
}

TEST_CASE("a replay equals the eager pass bit for bit, and reads what was uploaded since the capture") {
  const std::vector<uint32_t> uploads[] = {{1}, {17, 300, 256, 5}, {18, 257}, {2, 1, 16, 31, 33}};
  Rig rig;
  TinyPass eager(5), replayed(5);
  replayed.upload({3, 3}, 99);
  const std::unique_ptr<Graph> graph = capture(rig, replayed);
  for (uint32_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    eager.upload(uploads[i], i);
    replayed.upload(uploads[i], i);
    REQUIRE(eager.enqueue(rig.stages(), *rig.stream).ok());
    REQUIRE(rig.device->launch(*graph, *rig.stream).ok());
    rig.finish();
    CHECK(eager.same_result(replayed));
    CHECK(eager.row_status[0] == 0);
    CHECK(std::isfinite(eager.logits[0]));
  }
}

TEST_CASE("a pass has the same bits with 1, 2 and 4 threads") {
  TinyPass one(4);
  one.upload({300, 40, 700}, 3);
  Rig alone(1);
  REQUIRE(one.enqueue(alone.stages(), *alone.stream).ok());
  alone.finish();
  for (const uint32_t threads : {2u, 4u}) {
    TinyPass several(4);
    several.upload({300, 40, 700}, 3);
    Rig rig(threads);
    REQUIRE(several.enqueue(rig.stages(), *rig.stream).ok());
    rig.finish();
    CHECK(one.same_result(several));
  }
}

TEST_CASE("a bucket's padding does not change the live rows' bits") {
  Rig rig;
  TinyPass exact(3), padded(8);
  for (TinyPass* pass : {&exact, &padded}) {
    pass->upload({20, 290, 1}, 5);
    REQUIRE(pass->enqueue(rig.stages(), *rig.stream).ok());
  }
  rig.finish();
  CHECK(same_bits(exact.logits.data(), padded.logits.data(), exact.logits.size()));
  CHECK(same_bits(exact.sampled.data(), padded.sampled.data(), 3));
  CHECK(same_bits(exact.cache, padded.cache));
  CHECK(padded.sampled[3] == kNoToken);
  CHECK(padded.hidden.untouched(3 * TinyPass::kHidden, padded.hidden.size()));
}

TEST_CASE("a capture runs nothing") {
  Rig rig;
  Trace trace;
  REQUIRE(rig.device->begin_capture(*rig.stream).ok());
  for (int32_t i = 0; i < 3; ++i) REQUIRE(trace.stage(i, *rig.stream).ok());
  const std::unique_ptr<Graph> graph = std::move(rig.device->end_capture(*rig.stream)).value();
  rig.finish();
  CHECK(trace.numbers.empty());
  CHECK(graph->bytes() >= 3 * sizeof(host::Op));
  REQUIRE(rig.device->launch(*graph, *rig.stream).ok());
  REQUIRE(trace.stage(9, *rig.stream).ok());
  REQUIRE(rig.device->launch(*graph, *rig.stream).ok());
  rig.finish();
  CHECK(trace.numbers == std::vector<int32_t>{0, 1, 2, 9, 0, 1, 2});
}

// Whatever is not a stage is refused during a capture, and the capture is lost.
TEST_CASE("a failed capture leaves nothing behind, and the stream works on") {
  Rig rig;
  Trace trace;
  uint32_t word = 5;
  std::atomic<uint64_t> cancelled{0};
  std::atomic<int32_t> outcome{0};
  REQUIRE(rig.device->begin_capture(*rig.stream).ok());
  const std::unique_ptr<Graph> empty = std::move(rig.device->end_capture(*rig.stream)).value();
  for (int refused = 0; refused < 8; ++refused) {
    CAPTURE(refused);
    Device& device = *rig.device;
    Stream& stream = *rig.stream;
    REQUIRE(device.begin_capture(stream).ok());
    REQUIRE(trace.stage(1, stream).ok());
    Status status;
    switch (refused) {
      case 0: status = device.copy_to_device(reinterpret_cast<uintptr_t>(&word), &word, 4, stream); break;
      case 1: status = device.copy_to_host(&word, reinterpret_cast<uintptr_t>(&word), 4, stream); break;
      case 2: status = device.record(*rig.event, stream); break;
      case 3: status = device.checkpoint({&cancelled, 1, &outcome, nullptr}, stream); break;
      case 4: status = device.end_pass(stream); break;
      case 5: status = device.launch(*empty, stream); break;
      case 6: status = device.begin_capture(stream); break;
      case 7: status = device.stages().kv_copy(KvCopyArgs{{}, 0, 0, 0, 99, {}, {}}, stream); break;
    }
    CHECK(status.code() == (refused == 7 ? Code::internal : Code::state));
    REQUIRE(trace.stage(2, stream).ok());
    CHECK(device.end_capture(stream).status().code() == status.code());
    CHECK(device.end_capture(stream).status().code() == Code::state);  // nothing is in progress any more
    REQUIRE(trace.stage(3, stream).ok());
    rig.finish();
    CHECK(trace.numbers == std::vector<int32_t>(static_cast<size_t>(refused) + 1, 3));
  }
}

}  // namespace
}  // namespace tdl::test
