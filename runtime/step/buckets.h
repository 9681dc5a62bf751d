// Buckets: the padded sequence counts that decode graphs exist for.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tdl {

inline constexpr uint32_t kMostBuckets = 64;

struct Buckets {
  uint32_t count = 0;
  uint32_t sizes[kMostBuckets] = {};  // ascending; the last is max_seqs
};

// 1 2 4 8 16 24 32 48 64, then four steps to every doubling, and max_seqs itself.
constexpr Buckets default_buckets(uint32_t max_seqs) {
  Buckets buckets;
  for (uint32_t size = 1, step = 1; size < max_seqs && buckets.count < kMostBuckets - 1;) {
    buckets.sizes[buckets.count++] = size;
    if (size < 16) step = size;            // 1 2 4 8 16
    else if (size < 32) step = 8;          // 24 32
    else if (size < 64) step = 16;         // 48 64
    else if ((size & (size - 1)) == 0) step = size / 4;  // 80 96 112 128, 160 192 ...
    size += step;
  }
  buckets.sizes[buckets.count++] = max_seqs;
  return buckets;
}

// The smallest bucket that holds `seqs` sequences, which must not exceed the largest.
constexpr uint32_t bucket_for(const Buckets& buckets, uint32_t seqs) {
  return *std::lower_bound(buckets.sizes, buckets.sizes + buckets.count, seqs);
}

static_assert(default_buckets(1).count == 1 && default_buckets(1).sizes[0] == 1);
static_assert(default_buckets(64).count == 9 && default_buckets(64).sizes[7] == 48);
static_assert(bucket_for(default_buckets(20), 17) == 20);

}  // namespace tdl
