// Streams: order, asynchrony, a full ring, lazy threads, memory and copies.
#include <cfenv>
#include <ctime>

#include "tests/kernels/host/gate.h"
#include "tests/support/fault.h"

namespace tdl::test {
namespace {

TEST_CASE("ops run in the order in which they were enqueued, also when there are more than the ring holds") {
  Rig rig;
  Trace trace;
  constexpr int32_t kMany = 5 * static_cast<int32_t>(host::HostStream::kOps) + 3;
  for (int32_t i = 0; i < kMany; ++i) REQUIRE(trace.stage(i, *rig.stream).ok());
  rig.finish();
  REQUIRE(trace.numbers.size() == size_t{kMany});
  for (int32_t i = 0; i < kMany; ++i) REQUIRE(trace.numbers[static_cast<size_t>(i)] == i);
}

TEST_CASE("enqueuing returns before the op runs, and waits only while the ring is full") {
  Rig rig;
  Trace trace;
  Gate gate;
  gate.hold(*rig.stream);
  for (uint32_t i = 1; i < host::HostStream::kOps; ++i) REQUIRE(trace.stage(static_cast<int32_t>(i), *rig.stream).ok());
  std::atomic<bool> enqueued{false};
  std::thread caller([&] {
    CHECK(trace.stage(0, *rig.stream).ok());
    enqueued.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(enqueued.load());
  gate.open();
  caller.join();
  rig.finish();
  CHECK(trace.numbers.size() == host::HostStream::kOps);
  CHECK(trace.numbers.back() == 0);
}

TEST_CASE("destroying a stream runs what is enqueued on it") {
  Rig rig;
  Trace trace;
  {
    const std::unique_ptr<Stream> stream = std::move(rig.device->create_stream()).value();
    for (int32_t i = 0; i < 500; ++i) REQUIRE(trace.stage(i, *stream).ok());
  }
  CHECK(trace.numbers.size() == 500);
}

TEST_CASE("two streams of a device do not wait for each other") {
  Rig rig;
  const std::unique_ptr<Stream> other = std::move(rig.device->create_stream()).value();
  Trace trace;
  Gate gate;
  gate.hold(*other);
  REQUIRE(trace.stage(1, *rig.stream).ok());
  rig.finish();
  CHECK(trace.numbers.size() == 1);
}

TEST_CASE("memory is zeroed and visible to the host, and copies go both ways in stream order") {
  Rig rig;
  auto memory = std::move(rig.device->allocate(10000)).value();
  auto pinned = std::move(rig.device->allocate_pinned(10000)).value();
  const DeviceBytes span = memory->span();
  CHECK(span.bytes == 10000);
  CHECK(span.address % 256 == 0);
  CHECK(pinned->bytes() == 10000);
  const auto* view = static_cast<const unsigned char*>(rig.device->host_view(span.address));
  CHECK(std::all_of(view, view + 10000, [](unsigned char byte) { return byte == 0; }));
  CHECK(std::all_of(pinned->data(), pinned->data() + 10000, [](std::byte byte) { return byte == std::byte{0}; }));

  const uint32_t first = 1, second = 2;
  uint32_t back[2] = {};
  REQUIRE(rig.device->copy_to_device(span.address + 8, &first, 4, *rig.stream).ok());
  REQUIRE(rig.device->copy_to_host(&back[0], span.address + 8, 4, *rig.stream).ok());
  REQUIRE(rig.device->copy_to_device(span.address + 8, &second, 4, *rig.stream).ok());
  REQUIRE(rig.device->copy_to_host(&back[1], span.address + 8, 4, *rig.stream).ok());
  REQUIRE(rig.device->copy_to_host(nullptr, 0, 0, *rig.stream).ok());
  rig.finish();
  CHECK(back[0] == 1);
  CHECK(back[1] == 2);
  CHECK(std::move(rig.device->allocate(0)).value()->span().bytes == 0);
  CHECK(std::strcmp(rig.device->name(), "cpu") == 0);
}

TEST_CASE("memory that cannot be had is out_of_memory and says how much it was") {
  Rig rig;
  const Fault fault(os::Site::map_pages, 0, true);
  CHECK(rig.device->allocate(4096).status().code() == Code::out_of_memory);
  CHECK(rig.device->allocate(4096).status().required() == 4096);
  CHECK(rig.device->allocate_pinned(64).status().code() == Code::out_of_memory);
  CHECK(rig.device->create_stream().status().code() == Code::out_of_memory);
}

TEST_CASE("a stream's thread starts with its first op; when it cannot, the op is refused and a later one works") {
  Rig rig;
  Trace trace;
  uint32_t word = 7;
  const std::unique_ptr<Stream> stream = std::move(rig.device->create_stream()).value();
  {
    const Fault fault(os::Site::start_thread, 0, true);
    REQUIRE(rig.device->begin_capture(*stream).ok());  // recording costs no thread
    REQUIRE(trace.stage(1, *stream).ok());
    REQUIRE(rig.device->end_capture(*stream).ok());
    CHECK(fault.hits() == 0);
    CHECK(trace.stage(2, *stream).code() == Code::out_of_memory);
    CHECK(rig.device->copy_to_host(&word, 0, 0, *stream).code() == Code::out_of_memory);
    CHECK(rig.device->record(*rig.event, *stream).code() == Code::out_of_memory);
    CHECK(std::move(rig.device->done(*rig.event)).value());  // the refused record left it as it was
    CHECK(fault.hits() == 3);
  }
  REQUIRE(trace.stage(3, *stream).ok());
  REQUIRE(rig.device->record(*rig.event, *stream).ok());
  REQUIRE(rig.device->wait(*rig.event, UINT64_MAX).ok());
  CHECK(trace.numbers == std::vector<int32_t>{3});
}

TEST_CASE("idle threads use no processor time") {
  Rig rig(4);
  Trace trace;
  REQUIRE(trace.stage(1, *rig.stream).ok());
  rig.finish();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t begin = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 0.05);
}

struct Quotients {
  float dividend, divisor;  // from memory, so that the division happens where and when the op runs
  std::atomic<uint32_t> inside;
  float result[2];
};

// One division on each of two threads: neither goes on before the other is there.
void divide(Quotients* const& quotients, host::Pool& pool) {
  quotients->inside.store(0);
  pool.for_each(2, [&](uint32_t item) {
    ++quotients->inside;
    while (quotients->inside.load() < 2) std::this_thread::yield();
    quotients->result[item] = quotients->dividend / quotients->divisor;
  });
}

TEST_CASE("the host's rounding mode does not reach the compute threads") {
  Quotients quotients = {1, 3, {0}, {0, 0}};
  REQUIRE(std::fesetround(FE_UPWARD) == 0);
  Rig rig(2);
  auto& queue = static_cast<host::HostStream&>(*rig.stream);
  const host::Op op = host::make_op(host::OpKind::stage, host::run_with<Quotients*, divide>, &quotients);
  const Status submitted = queue.submit(op);  // starts the leader
  std::fesetround(FE_TONEAREST);
  REQUIRE(submitted.ok());
  rig.finish();
  for (const float result : quotients.result) CHECK(result == std::bit_cast<float>(0x3EAAAAABu));  // upward: the same
  quotients.dividend = -1;
  REQUIRE(queue.submit(op).ok());
  rig.finish();
  for (const float result : quotients.result) CHECK(result == std::bit_cast<float>(0xBEAAAAABu));  // upward: ...AA
}

}  // namespace
}  // namespace tdl::test
