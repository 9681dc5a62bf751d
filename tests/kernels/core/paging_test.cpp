#include "kernels/core/paging.h"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace tdl;

TEST_SUITE("paging") {
  TEST_CASE("blocks_for counts the blocks that are begun") {
    for (const uint32_t size : {16u, 32u, 64u, 128u}) {
      CHECK(blocks_for(0, size) == 0);
      CHECK(blocks_for(1, size) == 1);
      CHECK(blocks_for(size - 1, size) == 1);
      CHECK(blocks_for(size, size) == 1);
      CHECK(blocks_for(size + 1, size) == 2);
      CHECK(blocks_for(10 * size, size) == 10);
    }
    CHECK(blocks_for(UINT32_MAX, 16) == 0x10000000u);
  }

  TEST_CASE("slot_of joins a block and an offset, beyond 32 bits too") {
    CHECK(slot_of(0, 0, 64) == 0);
    CHECK(slot_of(3, 5, 64) == 3 * 64 + 5);
    CHECK(slot_of(3, 64 + 5, 64) == 3 * 64 + 5);
    CHECK(slot_of(3, 63, 64) == 4 * 64 - 1);
    CHECK(slot_of(INT32_MAX, 127, 128) == (int64_t{INT32_MAX} + 1) * 128 - 1);
    CHECK(slot_of(1, (uint64_t{1} << 40) + 2, 16) == 18);
  }

  TEST_CASE("every position of a sequence has a slot of its own") {
    const int32_t table[] = {5, 0, 2};
    bool used[6 * 16] = {};
    uint32_t twice = 0;
    for (uint32_t position = 0; position < 48; ++position) {
      const int64_t slot = slot_of(table[position / 16], position, 16);
      twice += used[slot];
      used[slot] = true;
    }
    CHECK(twice == 0);
    CHECK(used[5 * 16]);
    CHECK(used[47]);
    CHECK_FALSE(used[16]);
  }

  TEST_CASE("the geometry counts K and V of every head, position and layer") {
    const KvGeometry kv{2, 3, 64, 16, 2};
    CHECK(kv.block_bytes() == 3 * 2 * 16 * 64 * 2);
    CHECK(kv.bytes_per_block() == 2 * kv.block_bytes());
    CHECK(kv.layer_bytes(10) == 10 * kv.block_bytes());
    CHECK(kv.layer_bytes(0) == 0);
  }

  TEST_CASE("the geometry of a large cache does not wrap at 32 bits") {
    const KvGeometry kv{80, 8, 128, 128, 4};
    CHECK(kv.block_bytes() == 1u << 20);
    CHECK(kv.layer_bytes(1u << 20) == uint64_t{1} << 40);
    CHECK(kv.bytes_per_block() == uint64_t{80} << 20);
  }
}
