#include "runtime/step/buckets.h"

#include <doctest/doctest.h>

#include <vector>

using namespace tdl;

namespace {

std::vector<uint32_t> sizes_of(uint32_t max_seqs) {
  const Buckets buckets = default_buckets(max_seqs);
  return {buckets.sizes, buckets.sizes + buckets.count};
}

}  // namespace

TEST_SUITE("buckets") {
  TEST_CASE("the default buckets are those of the header, cut at max_seqs") {
    CHECK(sizes_of(1) == std::vector<uint32_t>{1});
    CHECK(sizes_of(2) == std::vector<uint32_t>{1, 2});
    CHECK(sizes_of(3) == std::vector<uint32_t>{1, 2, 3});
    CHECK(sizes_of(20) == std::vector<uint32_t>{1, 2, 4, 8, 16, 20});
    CHECK(sizes_of(64) == std::vector<uint32_t>{1, 2, 4, 8, 16, 24, 32, 48, 64});
    CHECK(sizes_of(65) == std::vector<uint32_t>{1, 2, 4, 8, 16, 24, 32, 48, 64, 65});
  }

  TEST_CASE("above 64 every doubling has four steps") {
    CHECK(sizes_of(256) == std::vector<uint32_t>{1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256});
    CHECK(sizes_of(200).back() == 200);
    CHECK(sizes_of(200)[14] == 192);
  }

  TEST_CASE("for every max_seqs the buckets ascend, end with it and are at most 64") {
    uint32_t bad = 0;
    for (uint32_t max_seqs = 1; max_seqs <= 65536; ++max_seqs) {
      const Buckets buckets = default_buckets(max_seqs);
      bool good = buckets.count >= 1 && buckets.count <= kMostBuckets && buckets.sizes[0] == 1 && buckets.sizes[buckets.count - 1] == max_seqs;
      for (uint32_t i = 1; good && i < buckets.count; ++i) good = buckets.sizes[i] > buckets.sizes[i - 1];
      bad += !good;
    }
    CHECK(bad == 0);
  }

  TEST_CASE("no default bucket is more than twice the one before, nor wastes more than a quarter above 64") {
    const Buckets buckets = default_buckets(65536);
    CHECK(buckets.count == 49);
    for (uint32_t i = 1; i < buckets.count; ++i) {
      CAPTURE(buckets.sizes[i]);
      CHECK(buckets.sizes[i] <= 2 * buckets.sizes[i - 1]);
      if (buckets.sizes[i] > 64) CHECK(4 * (buckets.sizes[i] - buckets.sizes[i - 1]) <= buckets.sizes[i - 1]);
    }
  }

  TEST_CASE("bucket_for finds the bucket itself, and the next one for one sequence more") {
    for (const uint32_t max_seqs : {1u, 5u, 64u, 100u, 1000u, 65536u}) {
      const Buckets buckets = default_buckets(max_seqs);
      for (uint32_t i = 0; i < buckets.count; ++i) {
        CAPTURE(buckets.sizes[i]);
        CHECK(bucket_for(buckets, buckets.sizes[i]) == buckets.sizes[i]);
        if (i > 0) CHECK(bucket_for(buckets, buckets.sizes[i] - 1) == (buckets.sizes[i] - 1 == buckets.sizes[i - 1] ? buckets.sizes[i - 1] : buckets.sizes[i]));
        if (i + 1 < buckets.count) CHECK(bucket_for(buckets, buckets.sizes[i] + 1) == buckets.sizes[i + 1]);
      }
    }
  }

  TEST_CASE("bucket_for works on buckets of the caller's own") {
    Buckets buckets;
    for (const uint32_t size : {3u, 7u, 10u}) buckets.sizes[buckets.count++] = size;
    CHECK(bucket_for(buckets, 1) == 3);
    CHECK(bucket_for(buckets, 4) == 7);
    CHECK(bucket_for(buckets, 10) == 10);
  }
}
