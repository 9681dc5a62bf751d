// A hash over an engine's state: what tests compare before and after a refused call.
#include <cstring>

#include "runtime/engine.h"

namespace tdl {
namespace {

class Hash {
 public:
  void bytes(const void* data, uint64_t count) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; count >= sizeof(uint64_t); at += sizeof(uint64_t), count -= sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, at, sizeof word);
      number(word);
    }
    for (uint64_t i = 0; i < count; ++i) number(at[i]);
  }
  void number(uint64_t number) { value_ = (value_ ^ number) * 0x100000001B3u; }  // FNV-1a, by words
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

}  // namespace

uint64_t Engine::digest() {
  Hash hash;
  if (!device_->record(*idle_, *stream_).ok() || !device_->wait(*idle_, UINT64_MAX).ok()) return 0;
  const uint64_t arena = arena_->span().address;
  std::vector<std::byte> copy;
  const auto device_bytes = [&](uint64_t address, uint64_t bytes) {
    if (const void* view = device_->host_view(address)) {
      hash.bytes(view, bytes);
      return true;
    }
    copy.resize(bytes);
    if (!device_->copy_to_host(copy.data(), address, bytes, *stream_).ok() || !device_->record(*idle_, *stream_).ok() || !device_->wait(*idle_, UINT64_MAX).ok()) return false;
    hash.bytes(copy.data(), bytes);
    return true;
  };
  if (!device_bytes(arena + plan_.block_at, plan_.block.bytes) || !device_bytes(arena + plan_.kv_at, plan_.num_blocks * plan_.kv.bytes_per_block()) ||
      !device_bytes(outputs_.row_status.address, uint64_t{limits_.max_outputs} * 8))
    return 0;
  hash.bytes(block_->pinned_bytes(), 2 * plan_.block.bytes);
  hash.number(block_->turn());
  hash.bytes(pool_->references(), uint64_t{pool_->num_blocks()} * sizeof(uint32_t));
  hash.number(tickets_.last());
  hash.number(reinterpret_cast<uintptr_t>(fresh_));
  hash.number(reinterpret_cast<uintptr_t>(mapped_));
  hash.number(previous_.count * 2u + previous_.sampled);
  hash.bytes(live_outputs_.data(), live_outputs_.size());
  const EngineStats now = stats();
  for (const uint64_t counter : {uint64_t{now.graphs}, now.graph_replays, now.graph_failures, now.eager_passes, now.passes, now.rows, now.uploaded_bytes})
    hash.number(counter);
  return hash.value();
}

}  // namespace tdl
