// KV blocks: the pool's counts, and copies in stream order.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

constexpr uint32_t kBlock = 16;

struct Rig {
  EngineHandle engine;
  PassHandle prefill, decode;

  explicit Rig(int32_t kv_mode, uint32_t num_blocks) {
    engine = make_engine(golden_path("qwen3") + "/model", [=](tdl_engine_config& config) {
      config.max_seqs = 2;
      config.max_prefill_rows = 64;
      config.max_context = 64;
      config.block_size = kBlock;
      config.num_blocks = num_blocks;
      config.kv_mode = kv_mode;
    });
    prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1);
    decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2);
  }
  uint32_t free_blocks() { return stats_of(engine.get()).free_blocks; }
  std::vector<int32_t> alloc(uint32_t count) {
    std::vector<int32_t> blocks(count, -1);
    REQUIRE(tdl_kv_alloc(engine.get(), blocks.data(), count, nullptr) == TDL_OK);
    return blocks;
  }
  tdl_status release(const std::vector<int32_t>& blocks) { return tdl_kv_release(engine.get(), blocks.data(), static_cast<uint32_t>(blocks.size()), nullptr); }
  tdl_status retain(const std::vector<int32_t>& blocks) { return tdl_kv_retain(engine.get(), blocks.data(), static_cast<uint32_t>(blocks.size()), nullptr); }
  tdl_status copy(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
    return tdl_kv_copy(engine.get(), from.data(), to.data(), static_cast<uint32_t>(from.size()), nullptr);
  }
};

std::vector<uint32_t> prompt(uint32_t count, uint32_t seed = 0) {
  std::vector<uint32_t> tokens;
  for (uint32_t i = 0; i < count; ++i) tokens.push_back((i * 31 + seed * 7 + 2) % 192);
  return tokens;
}

}  // namespace

TEST_CASE("a pool counts every reference") {
  Rig rig(TDL_KV_POOL, 10);
  CHECK(rig.free_blocks() == 10);
  const std::vector<int32_t> a = rig.alloc(4), b = rig.alloc(6);
  std::set<int32_t> all(a.begin(), a.end());
  all.insert(b.begin(), b.end());
  CHECK(all.size() == 10);
  CHECK(*all.begin() == 0);
  CHECK(*all.rbegin() == 9);
  CHECK(rig.free_blocks() == 0);
  int32_t none = 77;
  Error error;
  CHECK(tdl_kv_alloc(rig.engine.get(), &none, 1, &error) == TDL_E_OUT_OF_MEMORY);
  CHECK(error.required == 1);
  CHECK(none == 77);
  CHECK(tdl_kv_alloc(rig.engine.get(), nullptr, 0, nullptr) == TDL_OK);

  CHECK(rig.retain({a[0], a[0], a[1]}) == TDL_OK);  // a[0] has three references, a[1] two
  CHECK(rig.release(a) == TDL_OK);
  CHECK(rig.free_blocks() == 2);
  CHECK(rig.release({a[0]}) == TDL_OK);
  CHECK(rig.free_blocks() == 2);
  CHECK(rig.release({a[1], a[0]}) == TDL_OK);
  CHECK(rig.free_blocks() == 4);
  CHECK(rig.release({a[0]}) == TDL_E_CONFLICT);
  CHECK(rig.retain({a[0]}) == TDL_E_CONFLICT);
  const std::vector<int32_t> again = rig.alloc(4);
  CHECK(std::set<int32_t>(again.begin(), again.end()) == std::set<int32_t>(a.begin(), a.end()));
  CHECK(rig.retain(again) == TDL_OK);
  std::vector<int32_t> twice = again;
  twice.insert(twice.end(), again.begin(), again.end());
  CHECK(rig.release(twice) == TDL_OK);  // named twice counts twice
  CHECK(rig.free_blocks() == 4);
}

TEST_CASE("a shared block may be read by many and written by none until it is copied") {
  Rig rig(TDL_KV_POOL, 10);
  Sequence parent{rig.alloc(2), 0}, child;
  run(rig.engine.get(), rig.prefill.get(), {{&parent, prompt(20), {}}}, true, false);
  child = parent;
  REQUIRE(rig.retain(child.blocks) == TDL_OK);
  Batch batch({{&parent, {5}, {}}, {&child, {9}, {}}}, false, kBlock);
  tdl_metadata metadata = batch.metadata();
  CHECK(tdl_upload_metadata(rig.decode.get(), &metadata, nullptr) == TDL_E_CONFLICT);
  // Copy on write: the child gets its own second block.
  const std::vector<int32_t> own = rig.alloc(1);
  REQUIRE(rig.copy({child.blocks[1]}, own) == TDL_OK);
  REQUIRE(rig.release({child.blocks[1]}) == TDL_OK);
  child.blocks[1] = own[0];
  const Results both = run(rig.engine.get(), rig.decode.get(), {{&parent, {5}, {}}, {&child, {9}, {}}}, false);
  for (const uint32_t o : {0u, 1u}) {
    Rig fresh(TDL_KV_CALLER, 8);
    Sequence alone{{4, 2}, 0};
    run(fresh.engine.get(), fresh.prefill.get(), {{&alone, prompt(20), {}}}, true, false);
    const Results expected = run(fresh.engine.get(), fresh.decode.get(), {{&alone, {o == 0 ? 5u : 9u}, {}}}, false);
    CHECK(std::equal(expected.logits.begin(), expected.logits.end(), both.logits_of(o)));
  }
}

TEST_CASE("copies are in stream order: behind what was submitted, before what comes next") {
  for (const int32_t kv_mode : {TDL_KV_CALLER, TDL_KV_POOL}) {
    Rig rig(kv_mode, 16);
    std::vector<int32_t> blocks(16);
    for (int32_t i = 0; i < 16; ++i) blocks[static_cast<size_t>(i)] = i;
    if (kv_mode == TDL_KV_POOL) blocks = rig.alloc(16);
    Sequence original{{blocks[3], blocks[0], blocks[7]}, 0}, copied{{blocks[5], blocks[9], blocks[2]}, 0}, later{{blocks[10], blocks[11], blocks[12]}, 0};
    const Batch batch({{&original, prompt(40), {}}}, true, kBlock);
    const tdl_metadata metadata = batch.metadata();
    REQUIRE(tdl_upload_metadata(rig.prefill.get(), &metadata, nullptr) == TDL_OK);
    REQUIRE(rig.copy(later.blocks, copied.blocks) == TDL_OK);  // still nothing in there: a copy between upload and submit is before it
    uint64_t ticket = 0;
    REQUIRE(tdl_submit(rig.prefill.get(), &ticket, nullptr) == TDL_OK);
    REQUIRE(rig.copy(original.blocks, copied.blocks) == TDL_OK);  // at once, without waiting
    // The original's blocks are overwritten right behind.
    Sequence other{original.blocks, 0};
    const Batch next({{&other, prompt(40, 3), {}}}, true, kBlock);
    const tdl_metadata second = next.metadata();
    REQUIRE(tdl_upload_metadata(rig.prefill.get(), &second, nullptr) == TDL_OK);
    REQUIRE(tdl_submit(rig.prefill.get(), &ticket, nullptr) == TDL_OK);
    REQUIRE(rig.copy(original.blocks, later.blocks) == TDL_OK);
    REQUIRE(tdl_wait(rig.engine.get(), ticket, UINT64_MAX, nullptr, nullptr) == TDL_OK);
    copied.length = later.length = 40;
    const Results both = run(rig.engine.get(), rig.decode.get(), {{&copied, {8}, {}}, {&later, {8}, {}}}, false);
    for (const uint32_t seed : {0u, 3u}) {
      Rig fresh(TDL_KV_CALLER, 8);
      Sequence alone{{1, 4, 6}, 0};
      run(fresh.engine.get(), fresh.prefill.get(), {{&alone, prompt(40, seed), {}}}, true, false);
      const Results expected = run(fresh.engine.get(), fresh.decode.get(), {{&alone, {8}, {}}}, false);
      CHECK(std::equal(expected.logits.begin(), expected.logits.end(), both.logits_of(seed == 0 ? 0 : 1)));
    }
  }
}

TEST_CASE("more copies than one launch takes are all made") {
  constexpr int32_t kHalf = 50;
  Rig rig(TDL_KV_CALLER, 2 * kHalf);
  // A short sequence in every block of the first half.
  std::vector<int32_t> from, to;
  for (int32_t i = 0; i < kHalf; ++i) {
    Sequence sequence{{i}, 0};
    run(rig.engine.get(), rig.prefill.get(), {{&sequence, prompt(3, static_cast<uint32_t>(i)), {}}}, true, false);
    from.push_back(i);
    to.push_back(2 * kHalf - 1 - i);
  }
  REQUIRE(rig.copy(from, to) == TDL_OK);
  for (int32_t i = 0; i < kHalf; ++i) {
    Sequence original{{from[static_cast<size_t>(i)]}, 3}, copied{{to[static_cast<size_t>(i)]}, 3};
    const Results both = run(rig.engine.get(), rig.decode.get(), {{&original, {1}, {}}, {&copied, {1}, {}}}, false);
    CHECK(std::equal(both.logits_of(0), both.logits_of(1), both.logits_of(1)));
  }
}
