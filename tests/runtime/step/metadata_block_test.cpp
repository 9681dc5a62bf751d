// The metadata block on the device: two stagings in turn, one copy of the used prefix.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/step/metadata.h"
#include "tests/kernels/host/gate.h"
#include "tests/runtime/step/given.h"
#include "tests/runtime/step/staging.h"

using namespace tdl;
using namespace tdl::test;

namespace {

struct BlockRig {
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> event;
  std::unique_ptr<MetadataBlock> block;
  BlockLayout layout;

  explicit BlockRig(const Bench& bench) : layout(Staging(bench).layout) {
    device = std::move(host_device(1)).value();
    memory = std::move(device->allocate(layout.bytes)).value();
    stream = std::move(device->create_stream()).value();
    event = std::move(device->create_event()).value();
    block = std::make_unique<MetadataBlock>(std::move(MetadataBlock::create(*device, layout, memory->span().address)).value());
  }
  ~BlockRig() { finish(); }
  void finish() {
    CHECK(device->record(*event, *stream).ok());
    CHECK(device->wait(*event, UINT64_MAX).ok());
  }
  std::byte* on_device() { return static_cast<std::byte*>(device->host_view(memory->span().address)); }
  uint64_t upload(const Bench& bench, const Given& g) {
    uint64_t bytes = 0;
    const Status status = block->upload(g.upload(), bench.pass, bench.accept(g), bench.limits.block_size, *stream, &bytes);
    REQUIRE_MESSAGE(status.ok(), status.message());
    return bytes;
  }
};

}  // namespace

TEST_SUITE("metadata block") {
  TEST_CASE("copies the used prefix of the group to its fixed place, and nothing else") {
    for (const PassKind kind : {PassKind::decode, PassKind::prefill}) {
      const Bench bench(kind);
      BlockRig rig(bench);
      std::memset(rig.on_device(), 0x5A, rig.layout.bytes);
      const Given g = given({{1, 9, {4, 5, 6}}}, false);
      Staging wanted(bench);
      const PassShape shape = bench.accept(g);
      const uint64_t end = wanted.write(g, shape), begin = wanted.group(kind).header;
      CHECK(rig.upload(bench, g) == end - begin);
      rig.finish();
      for (const auto& [offset, bytes] : used_parts(shape, wanted.group(kind))) CHECK(std::memcmp(rig.on_device() + offset, wanted.bytes.data() + offset, bytes) == 0);
      uint64_t stray = 0;
      for (uint64_t i = 0; i < rig.layout.bytes; ++i) stray += (i < begin || i >= end) && rig.on_device()[i] != std::byte{0x5A};
      CHECK(stray == 0);
    }
  }

  TEST_CASE("takes the two stagings in turn") {
    const Bench bench(PassKind::decode);
    BlockRig rig(bench);
    std::byte* const first = rig.block->staging();
    CHECK(rig.block->turn() == 0);
    rig.upload(bench, given({{1, 9, {4, 5, 6}}}, false));
    CHECK(rig.block->turn() == 1);
    std::byte* const second = rig.block->staging();
    CHECK((second >= first + rig.layout.bytes || first >= second + rig.layout.bytes));
    rig.upload(bench, given({{1, 9, {4, 5, 6}}}, false));
    CHECK(rig.block->staging() == first);
  }

  TEST_CASE("stagings are free at first, and again when the stream has passed their copies") {
    const Bench bench(PassKind::decode);
    BlockRig rig(bench);
    for (uint32_t i = 0; i < 6; ++i) {
      CHECK(rig.block->wait_staging().ok());
      CHECK(*rig.block->staging_free());
      rig.upload(bench, given({{1, 9, {4, 5, 6}}}, false));
    }
    rig.finish();
    CHECK(*rig.block->staging_free());
  }

  TEST_CASE("a staging is not free while its copy waits in the stream, and its content goes up all the same") {
    const Bench bench(PassKind::decode);
    BlockRig rig(bench);
    Gate gate;
    gate.hold(*rig.stream);
    rig.upload(bench, given({{1, 9, {4, 5, 6}}}, false));
    CHECK(*rig.block->staging_free());  // the other one
    rig.upload(bench, given({{1, 10, {4, 5, 6}}}, false));
    CHECK_FALSE(*rig.block->staging_free());
    gate.open();
    CHECK(rig.block->wait_staging().ok());
    CHECK(*rig.block->staging_free());
    rig.finish();
    uint32_t length = 0;
    std::memcpy(&length, rig.on_device() + rig.layout.decode.seq_len, sizeof length);
    CHECK(length == 10);
  }

  TEST_CASE("uploads in stream order leave the last one on the device") {
    const Bench bench(PassKind::decode);
    BlockRig rig(bench);
    for (uint32_t length = 1; length <= 20; ++length) {
      CHECK(rig.block->wait_staging().ok());
      rig.upload(bench, given({{1, length, {0, 1, 2, 3, 4}}}, false));
    }
    rig.finish();
    uint32_t length = 0;
    std::memcpy(&length, rig.on_device() + rig.layout.decode.seq_len, sizeof length);
    CHECK(length == 20);
  }

  TEST_CASE("knows which arrays lie in its stagings") {
    const Bench bench(PassKind::decode);
    BlockRig rig(bench);
    const std::byte* const all = rig.block->pinned_bytes();
    CHECK(rig.block->holds(all));
    CHECK(rig.block->holds(rig.block->staging() + rig.layout.decode.slot));
    CHECK(rig.block->holds(all + 2 * rig.layout.bytes - 1));
    CHECK_FALSE(rig.block->holds(all + 2 * rig.layout.bytes));
    CHECK_FALSE(rig.block->holds(all - 1));
    const uint32_t elsewhere = 0;
    CHECK_FALSE(rig.block->holds(&elsewhere));
    CHECK(rig.block->address() == rig.memory->span().address);
  }

  TEST_CASE("an upload from arrays in the staging itself") {
    const Bench bench(PassKind::decode);
    BlockRig rig(bench);
    const Given g = given({{1, 9, {4, 5, 6}}}, false);
    Upload u = g.upload();
    auto* tokens = reinterpret_cast<uint32_t*>(rig.block->staging() + rig.layout.decode.token_ids);
    tokens[0] = 33;
    u.token_ids = tokens;
    uint64_t bytes = 0;
    REQUIRE(rig.block->upload(u, bench.pass, bench.accept(g), 4, *rig.stream, &bytes).ok());
    rig.finish();
    uint32_t token = 0;
    std::memcpy(&token, rig.on_device() + rig.layout.decode.token_ids, sizeof token);
    CHECK(token == 33);
  }
}
