#include "runtime/kv/block_pool.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace tdl;

namespace {

// What the pool is to be: references of the blocks that are not free.
class Model {
 public:
  explicit Model(uint32_t num_blocks) : num_blocks_(num_blocks) {}
  uint32_t free() const { return num_blocks_ - static_cast<uint32_t>(references_.size()); }
  uint32_t references(int32_t block) const {
    const auto found = references_.find(block);
    return found == references_.end() ? 0 : found->second;
  }
  bool known(const std::vector<int32_t>& blocks) const {
    for (const int32_t block : blocks) {
      if (references(block) == 0) return false;
    }
    return true;
  }
  bool can_release(const std::vector<int32_t>& blocks) const {
    std::map<int32_t, uint32_t> times;
    for (const int32_t block : blocks) ++times[block];
    for (const auto& [block, count] : times) {
      if (references(block) < count) return false;
    }
    return true;
  }
  void retain(const std::vector<int32_t>& blocks) {
    for (const int32_t block : blocks) ++references_[block];
  }
  void release(const std::vector<int32_t>& blocks) {
    for (const int32_t block : blocks) {
      if (--references_[block] == 0) references_.erase(block);
    }
  }
  void compare(const BlockPool& pool) const {
    REQUIRE(pool.free_blocks() == free());
    for (uint32_t b = 0; b < num_blocks_; ++b) REQUIRE(pool.references()[b] == references(static_cast<int32_t>(b)));
  }

 private:
  uint32_t num_blocks_;
  std::map<int32_t, uint32_t> references_;
};

uint32_t count(const std::vector<int32_t>& blocks) { return static_cast<uint32_t>(blocks.size()); }

}  // namespace

TEST_SUITE("block pool") {
  TEST_CASE("gives out every block once, the first one first, then says how many are missing") {
    BlockPool pool(5);
    CHECK(pool.num_blocks() == 5);
    CHECK(pool.free_blocks() == 5);
    std::vector<int32_t> blocks(5, -1);
    REQUIRE(pool.alloc(blocks.data(), 3).ok());
    CHECK(blocks == std::vector<int32_t>{0, 1, 2, -1, -1});
    CHECK(pool.free_blocks() == 2);
    const Status status = pool.alloc(blocks.data(), 5);
    CHECK(status.code() == Code::out_of_memory);
    CHECK(status.required() == 3);
    CHECK(blocks == std::vector<int32_t>{0, 1, 2, -1, -1});
    REQUIRE(pool.alloc(blocks.data() + 3, 2).ok());
    CHECK(std::set<int32_t>(blocks.begin(), blocks.end()) == std::set<int32_t>{0, 1, 2, 3, 4});
    CHECK(pool.free_blocks() == 0);
    CHECK(pool.alloc(blocks.data(), 1).required() == 1);
  }

  TEST_CASE("a released block can be had again") {
    BlockPool pool(2);
    int32_t blocks[2];
    REQUIRE(pool.alloc(blocks, 2).ok());
    REQUIRE(pool.release(&blocks[0], 1).ok());
    int32_t again = -1;
    REQUIRE(pool.alloc(&again, 1).ok());
    CHECK(again == blocks[0]);
    CHECK(pool.references()[again] == 1);
  }

  TEST_CASE("a retained block is free only after as many releases") {
    BlockPool pool(1);
    int32_t block = -1;
    REQUIRE(pool.alloc(&block, 1).ok());
    REQUIRE(pool.retain(&block, 1).ok());
    CHECK(pool.references()[0] == 2);
    REQUIRE(pool.release(&block, 1).ok());
    CHECK(pool.free_blocks() == 0);
    REQUIRE(pool.release(&block, 1).ok());
    CHECK(pool.free_blocks() == 1);
  }

  TEST_CASE("a block may be named several times in a call") {
    BlockPool pool(3);
    int32_t block = -1;
    REQUIRE(pool.alloc(&block, 1).ok());
    const int32_t thrice[] = {block, block, block};
    REQUIRE(pool.retain(thrice, 3).ok());
    CHECK(pool.references()[block] == 4);
    REQUIRE(pool.release(thrice, 3).ok());
    CHECK(pool.references()[block] == 1);
  }

  TEST_CASE("refuses blocks that there are not, with the index") {
    BlockPool pool(3);
    int32_t blocks[3];
    REQUIRE(pool.alloc(blocks, 3).ok());
    for (const int32_t bad : {-1, 3, INT32_MIN, INT32_MAX}) {
      const int32_t given[] = {0, bad, 1};
      for (const bool retain : {true, false}) {
        const Status status = retain ? pool.retain(given, 3) : pool.release(given, 3);
        CHECK(status.code() == Code::range);
        CHECK(status.row() == 1);
        CHECK(pool.references()[0] == 1);
      }
    }
  }

  TEST_CASE("refuses free blocks") {
    BlockPool pool(3);
    int32_t block = -1;
    REQUIRE(pool.alloc(&block, 1).ok());
    const int32_t given[] = {block, 2};
    CHECK(pool.retain(given, 2).code() == Code::conflict);
    CHECK(pool.release(given, 2).code() == Code::conflict);
    CHECK(pool.release(given, 2).row() == 1);
    CHECK(pool.references()[block] == 1);
    CHECK(pool.references()[2] == 0);
  }

  TEST_CASE("a release that names a block more often than it has references takes back what it did") {
    BlockPool pool(4);
    int32_t blocks[3];
    REQUIRE(pool.alloc(blocks, 3).ok());
    REQUIRE(pool.retain(&blocks[1], 1).ok());
    const int32_t given[] = {blocks[0], blocks[1], blocks[2], blocks[1], blocks[0]};
    const Status status = pool.release(given, 5);
    CHECK(status.code() == Code::conflict);
    CHECK(status.row() == 4);
    CHECK(pool.free_blocks() == 1);
    CHECK(pool.references()[blocks[0]] == 1);
    CHECK(pool.references()[blocks[1]] == 2);
    CHECK(pool.references()[blocks[2]] == 1);
    int32_t fresh = -1;
    REQUIRE(pool.alloc(&fresh, 1).ok());
    CHECK(fresh == 3);
  }

  TEST_CASE("a reference count that is full stays so, and the call takes back what it did") {
    BlockPool pool(2);
    int32_t blocks[2];
    REQUIRE(pool.alloc(blocks, 2).ok());
    const_cast<uint32_t*>(pool.references())[1] = UINT32_MAX - 1;
    REQUIRE(pool.retain(&blocks[1], 1).ok());
    const int32_t given[] = {0, 0, 1};
    const Status status = pool.retain(given, 3);
    CHECK(status.code() == Code::limit);
    CHECK(status.row() == 2);
    CHECK(pool.references()[0] == 1);
    CHECK(pool.references()[1] == UINT32_MAX);
  }

  TEST_CASE("calls for nothing do nothing, null arrays included") {
    BlockPool pool(1);
    CHECK(pool.alloc(nullptr, 0).ok());
    CHECK(pool.retain(nullptr, 0).ok());
    CHECK(pool.release(nullptr, 0).ok());
    CHECK(pool.free_blocks() == 1);
  }

  TEST_CASE("a pool without blocks") {
    BlockPool pool(0);
    CHECK(pool.free_blocks() == 0);
    int32_t block = 0;
    CHECK(pool.alloc(&block, 1).code() == Code::out_of_memory);
    CHECK(pool.retain(&block, 1).code() == Code::range);
  }

  TEST_CASE("behaves as a map of counts through thousands of random calls, refused ones included") {
    std::mt19937 dice(1);
    const auto below = [&dice](uint32_t n) { return static_cast<uint32_t>(dice() % n); };
    uint32_t taken = 0, refused = 0;
    for (uint32_t round = 0; round < 20; ++round) {
      const uint32_t num_blocks = 1 + below(12);
      BlockPool pool(num_blocks);
      Model model(num_blocks);
      for (uint32_t call = 0; call < 1000; ++call) {
        std::vector<int32_t> blocks(below(6));
        const uint32_t action = below(3);
        bool ok = false;
        if (action == 0) {
          std::fill(blocks.begin(), blocks.end(), -77);
          ok = count(blocks) <= model.free();
          REQUIRE(pool.alloc(blocks.data(), count(blocks)).ok() == ok);
          if (ok) {
            for (const int32_t block : blocks) REQUIRE(model.references(block) == 0);  // were free ...
            REQUIRE(std::set<int32_t>(blocks.begin(), blocks.end()).size() == blocks.size());  // ... and differ
            model.retain(blocks);
          } else {
            for (const int32_t block : blocks) REQUIRE(block == -77);
          }
        } else {
          for (int32_t& block : blocks) block = static_cast<int32_t>(below(num_blocks));
          if (!blocks.empty() && below(20) == 0) blocks.back() = below(2) ? -1 : static_cast<int32_t>(num_blocks);
          ok = action == 1 ? model.known(blocks) : model.can_release(blocks);
          REQUIRE((action == 1 ? pool.retain(blocks.data(), count(blocks)) : pool.release(blocks.data(), count(blocks))).ok() == ok);
          if (ok && action == 1) model.retain(blocks);
          if (ok && action == 2) model.release(blocks);
        }
        ++(ok ? taken : refused);
        model.compare(pool);
      }
    }
    CHECK(taken > 3000);
    CHECK(refused > 3000);
  }
}
