// Validation of an upload: pure functions over PODs.  They read the caller's arrays, change nothing but the scratch, and name the row
// and sequence of what they refuse.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/step/upload.h"

namespace tdl {

// Memory that validation needs, taken once at create: a bit per KV slot and per block, all zero between calls.
class StepScratch {
 public:
  StepScratch(uint32_t num_blocks, uint32_t block_size)
      : slots_((uint64_t{num_blocks} * block_size + 63) / 64, 0), written_((uint64_t{num_blocks} + 63) / 64, 0) {}

  bool test_and_set_slot(uint64_t slot) { return test_and_set(slots_, slot); }
  void clear_slot(uint64_t slot) { slots_[slot / 64] = 0; }
  uint32_t count_slots(uint64_t first, uint32_t count) const {  // how many of `count` slots are set
    uint32_t set = 0;
    for (uint64_t at = first, end = first + count; at < end;) {
      const uint64_t bits = std::min<uint64_t>(64 - at % 64, end - at);
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : ((uint64_t{1} << bits) - 1) << (at % 64);
      set += static_cast<uint32_t>(std::popcount(slots_[at / 64] & mask));
      at += bits;
    }
    return set;
  }
  void set_block(uint32_t block) { written_[block / 64] |= uint64_t{1} << (block % 64); }
  void clear_block(uint32_t block) { written_[block / 64] = 0; }
  bool block_is_set(uint32_t block) const { return written_[block / 64] >> (block % 64) & 1; }

 private:
  static bool test_and_set(std::vector<uint64_t>& bits, uint64_t index) {
    const uint64_t mask = uint64_t{1} << (index % 64);
    const bool was = (bits[index / 64] & mask) != 0;
    bits[index / 64] |= mask;
    return was;
  }
  std::vector<uint64_t> slots_, written_;
};

// First row of sequence s, and one past its last (s == seqs gives the end).
inline uint32_t first_row(const Upload& upload, const PassLimits& pass, uint32_t s) {
  if (pass.kind == PassKind::decode) return s * pass.rows_per_seq;
  if (upload.query_start) return upload.query_start[s];
  return s == 0 ? 0 : upload.num_rows;
}

// The KV index that row i (of n) of a sequence has after the pass.
constexpr uint32_t kv_index(uint32_t seq_len, uint32_t n, uint32_t i) { return seq_len - n + i; }

// The slot a row writes; -1 = none.  Needs a valid upload.
int64_t write_slot(const Upload& upload, uint32_t block_size, uint32_t s, uint32_t row, uint32_t index);

// Checks the counts alone, before any array is read.
Status check_counts(const Upload& upload, const PassLimits& pass, const StepLimits& limits);

// Checks everything and finds the shape.  `references` is null where the caller numbers blocks itself, else [num_blocks] counts:
// a block that is read must have one, a block that is written exactly one.
Result<PassShape> validate(const Upload& upload, const PassLimits& pass, const StepLimits& limits, const PreviousOutputs& previous,
                           const uint32_t* references, StepScratch& scratch);

}  // namespace tdl
