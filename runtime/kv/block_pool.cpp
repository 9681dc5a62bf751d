#include "runtime/kv/block_pool.h"

namespace tdl {

BlockPool::BlockPool(uint32_t num_blocks) : references_(num_blocks, 0), free_(num_blocks), num_free_(num_blocks) {
  for (uint32_t i = 0; i < num_blocks; ++i) free_[i] = static_cast<int32_t>(num_blocks - 1 - i);  // block 0 is given out first
}

Status BlockPool::alloc(int32_t* blocks, uint32_t count) {
  uint32_t free = free_blocks();
  if (count > free) return fail(Code::out_of_memory, "%u KV blocks asked for, %u are free", count, free).needs(count - free);
  for (uint32_t i = 0; i < count; ++i) {
    blocks[i] = free_[--free];
    references_[static_cast<uint32_t>(blocks[i])] = 1;
  }
  num_free_.store(free, std::memory_order_relaxed);
  return {};
}

Status BlockPool::check(const int32_t* blocks, uint32_t count) const {
  for (uint32_t i = 0; i < count; ++i) {
    if (blocks[i] < 0 || static_cast<uint32_t>(blocks[i]) >= num_blocks())
      return fail(Code::range, "block %d at index %u, of %u blocks", blocks[i], i, num_blocks()).at_row(i);
    if (references_[static_cast<uint32_t>(blocks[i])] == 0)
      return fail(Code::conflict, "block %d at index %u is free", blocks[i], i).at_row(i);
  }
  return {};
}

Status BlockPool::retain(const int32_t* blocks, uint32_t count) {
  TDL_TRY(check(blocks, count));
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t& references = references_[static_cast<uint32_t>(blocks[i])];
    if (references == UINT32_MAX) {
      for (uint32_t k = 0; k < i; ++k) --references_[static_cast<uint32_t>(blocks[k])];
      return fail(Code::limit, "block %d has 2^32 - 1 references", blocks[i]).at_row(i);
    }
    ++references;
  }
  return {};
}

Status BlockPool::release(const int32_t* blocks, uint32_t count) {
  TDL_TRY(check(blocks, count));
  uint32_t free = free_blocks();
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t& references = references_[static_cast<uint32_t>(blocks[i])];
    if (references == 0) {  // named more often than it has references: take it all back
      for (uint32_t k = 0; k < i; ++k) ++references_[static_cast<uint32_t>(blocks[k])];
      return fail(Code::conflict, "block %d at index %u is released more often than it has references", blocks[i], i).at_row(i);
    }
    if (--references == 0) free_[free++] = blocks[i];
  }
  num_free_.store(free, std::memory_order_relaxed);
  return {};
}

}  // namespace tdl
