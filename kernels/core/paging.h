// Arithmetic of paged KV: blocks of `block_size` consecutive positions; a slot is block x block_size + offset.
#pragma once
#include <cstdint>

namespace tdl {

constexpr uint32_t blocks_for(uint64_t positions, uint32_t block_size) {
  return static_cast<uint32_t>((positions + block_size - 1) / block_size);
}

constexpr int64_t slot_of(int32_t block, uint64_t position, uint32_t block_size) {
  return int64_t{block} * block_size + static_cast<int64_t>(position % block_size);
}

// The cache: [layer][block][kv_head][K, V][block_size][head_dim].
struct KvGeometry {
  uint32_t layers, kv_heads, head_dim, block_size, element_bytes;

  constexpr uint64_t block_bytes() const { return uint64_t{kv_heads} * 2 * block_size * head_dim * element_bytes; }
  constexpr uint64_t bytes_per_block() const { return block_bytes() * layers; }  // over all layers
  constexpr uint64_t layer_bytes(uint32_t num_blocks) const { return block_bytes() * num_blocks; }
};

}  // namespace tdl
