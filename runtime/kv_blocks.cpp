// KV blocks: an engine's side of allocation and copying.
#include <algorithm>

#include "runtime/engine.h"

namespace tdl {

Status Engine::needs_pool() const {
  return limits_.kv_mode == KvMode::pool ? Status() : fail(Code::state, "the engine was created with TDL_KV_CALLER: its caller numbers the blocks");
}

Status Engine::kv_alloc(int32_t* blocks, uint32_t count) {
  TDL_TRY(needs_pool());
  return pool_->alloc(blocks, count);
}

Status Engine::kv_retain(const int32_t* blocks, uint32_t count) {
  TDL_TRY(needs_pool());
  return pool_->retain(blocks, count);
}

Status Engine::kv_release(const int32_t* blocks, uint32_t count) {
  TDL_TRY(needs_pool());
  return pool_->release(blocks, count);
}

Status Engine::kv_copy(const int32_t* from, const int32_t* to, uint32_t count) {
  const uint32_t* references = limits_.kv_mode == KvMode::pool ? pool_->references() : nullptr;
  const auto check = [&](uint32_t i) -> Status {
    for (const int32_t block : {from[i], to[i]}) {
      if (block < 0 || static_cast<uint32_t>(block) >= plan_.num_blocks)
        return fail(Code::range, "block %d at index %u, of %u blocks", block, i, plan_.num_blocks).at_row(i);
    }
    if (references && references[from[i]] == 0) return fail(Code::conflict, "source block %d at index %u is free", from[i], i).at_row(i);
    if (references && references[to[i]] != 1)
      return fail(Code::conflict, "target block %d at index %u has %u references, not one", to[i], i, references[to[i]]).at_row(i);
    if (scratch_->block_is_set(static_cast<uint32_t>(to[i]))) return fail(Code::conflict, "block %d is a target twice, at index %u", to[i], i).at_row(i);
    return {};
  };
  Status status;
  uint32_t marked = 0;
  for (; status.ok() && marked < count; ++marked) {
    status = check(marked);
    if (!status.ok()) break;
    scratch_->set_block(static_cast<uint32_t>(to[marked]));
  }
  for (uint32_t i = 0; status.ok() && i < count; ++i) {
    if (scratch_->block_is_set(static_cast<uint32_t>(from[i])))
      status = fail(Code::conflict, "block %d is source and target, at index %u", from[i], i).at_row(i);
  }
  for (uint32_t i = 0; i < marked; ++i) scratch_->clear_block(static_cast<uint32_t>(to[i]));
  TDL_TRY(status);

  KvCopyArgs args{};
  args.data = {model_.kv};
  args.layer_bytes = model_.layer_bytes;
  args.block_bytes = plan_.kv.block_bytes();
  args.layers = config_.num_layers;
  for (uint32_t done = 0; done < count; done += args.count) {
    args.count = std::min(count - done, KvCopyArgs::kMost);
    std::copy_n(from + done, args.count, args.from);
    std::copy_n(to + done, args.count, args.to);
    TDL_TRY(device_->stages().kv_copy(args, *stream_));
  }
  return {};
}

}  // namespace tdl
