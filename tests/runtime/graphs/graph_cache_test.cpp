#include "runtime/graphs/graph_cache.h"

#include <doctest/doctest.h>

#include <memory>
#include <type_traits>

using namespace tdl;

namespace {

class FakeGraph final : public Graph {
 public:
  explicit FakeGraph(uint64_t bytes, uint32_t* alive = nullptr) : bytes_(bytes), alive_(alive) {
    if (alive_) ++*alive_;
  }
  ~FakeGraph() override {
    if (alive_) --*alive_;
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  uint64_t bytes_;
  uint32_t* alive_;
};

struct Arguments {
  uint64_t address;
  uint32_t rows;
  friend bool operator==(const Arguments&, const Arguments&) = default;
};

constexpr Arguments kArguments = {0x1000, 8};

GraphKey key_of(uint32_t bucket, uint32_t rows_per_seq = 1, OutputsKind outputs = OutputsKind::per_sequence) {
  GraphKey key;
  key.bucket = bucket;
  key.rows_per_seq = rows_per_seq;
  key.outputs = outputs;
  return key;
}

}  // namespace

TEST_SUITE("graph cache") {
  TEST_CASE("finds the graph of a key, and none for other keys") {
    GraphCache<Arguments> cache;
    CHECK(cache.find(key_of(1), kArguments) == nullptr);
    auto one = std::make_unique<FakeGraph>(1), two = std::make_unique<FakeGraph>(2);
    const Graph *first = one.get(), *second = two.get();
    cache.add(key_of(1), kArguments, std::move(one));
    cache.add(key_of(2), kArguments, std::move(two));
    CHECK(cache.find(key_of(1), kArguments) == first);
    CHECK(cache.find(key_of(2), kArguments) == second);
    CHECK(cache.find(key_of(3), kArguments) == nullptr);
    CHECK(cache.contains(key_of(2)));
    CHECK_FALSE(cache.contains(key_of(3)));
  }

  TEST_CASE("a graph whose arguments differ is not replayed, though the key is known") {
    GraphCache<Arguments> cache;
    cache.add(key_of(1), kArguments, std::make_unique<FakeGraph>(1));
    CHECK(cache.find(key_of(1), {0x1008, 8}) == nullptr);
    CHECK(cache.find(key_of(1), {0x1000, 9}) == nullptr);
    CHECK(cache.contains(key_of(1)));
  }

  TEST_CASE("a capture that failed is remembered, and counted as no graph") {
    GraphCache<Arguments> cache;
    cache.add(key_of(4), kArguments, nullptr);
    CHECK(cache.contains(key_of(4)));
    CHECK(cache.find(key_of(4), kArguments) == nullptr);
    CHECK(cache.graphs() == 0);
    CHECK(cache.bytes() == 0);
  }

  TEST_CASE("counts graphs and their bytes") {
    GraphCache<Arguments> cache;
    cache.reserve(3);
    cache.add(key_of(1), kArguments, std::make_unique<FakeGraph>(100));
    cache.add(key_of(2), kArguments, nullptr);
    cache.add(key_of(4), kArguments, std::make_unique<FakeGraph>(uint64_t{1} << 33));
    CHECK(cache.graphs() == 2);
    CHECK(cache.bytes() == 100 + (uint64_t{1} << 33));
  }

  TEST_CASE("graphs stay where they are when more are added, and go with the cache") {
    uint32_t alive = 0;
    {
      GraphCache<Arguments> cache;
      cache.add(key_of(1), kArguments, std::make_unique<FakeGraph>(1, &alive));
      const Graph* first = cache.find(key_of(1), kArguments);
      for (uint32_t bucket = 2; bucket <= 100; ++bucket) cache.add(key_of(bucket), kArguments, std::make_unique<FakeGraph>(1, &alive));
      CHECK(cache.find(key_of(1), kArguments) == first);
      CHECK(alive == 100);
    }
    CHECK(alive == 0);
  }
}

TEST_SUITE("graph key") {
  TEST_CASE("differs when any of its fields does") {
    const GraphKey base = key_of(2, 3);
    CHECK(base == key_of(2, 3));
    CHECK(base != key_of(3, 3));
    CHECK(base != key_of(2, 2));
    CHECK(base != key_of(2, 3, OutputsKind::every_row));
    GraphKey other = base;
    other.route = Route::rows;
    CHECK(base != other);
    other = base;
    other.expert_route = ExpertRoute::rows;
    CHECK(base != other);
    CHECK(std::is_trivially_copyable_v<GraphKey>);
  }

  TEST_CASE("is by default a pass of one row per sequence on the base weights") {
    const GraphKey key;
    CHECK(key.bucket == 0);
    CHECK(key.rows_per_seq == 1);
    CHECK(key.route == Route::none);
    CHECK(key.expert_route == ExpertRoute::none);
    CHECK(key.outputs == OutputsKind::per_sequence);
  }
}
