// Reference counts of KV blocks, for engines whose blocks come from tdl_kv_alloc.  Every call is all or nothing.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/core/status.h"

namespace tdl {

class BlockPool {
 public:
  // Takes all its memory here.  A pool of 0 blocks serves engines whose callers number the blocks themselves.
  explicit BlockPool(uint32_t num_blocks);

  // out_of_memory, with the number of missing blocks, when fewer than `count` are free.
  Status alloc(int32_t* blocks, uint32_t count);
  Status retain(const int32_t* blocks, uint32_t count);
  Status release(const int32_t* blocks, uint32_t count);

  uint32_t free_blocks() const { return num_free_.load(std::memory_order_relaxed); }  // any thread
  const uint32_t* references() const { return references_.data(); }                   // [num_blocks]; 0 = free
  uint32_t num_blocks() const { return static_cast<uint32_t>(references_.size()); }

 private:
  Status check(const int32_t* blocks, uint32_t count) const;
  std::vector<uint32_t> references_;
  std::vector<int32_t> free_;  // a stack; its first num_free_ entries are free
  std::atomic<uint32_t> num_free_;
};

}  // namespace tdl
