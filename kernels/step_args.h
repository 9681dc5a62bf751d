// The PODs that kernels read: the header at the front of an uploaded metadata block, and the attention metadata of a pass.
// They are copied into kernel arguments and captured graphs, so their layouts are fixed by the assertions at the end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/core/span.h"

namespace tdl {

// Attention reads a row's KV in chunks of this many positions, each reduced on its own; the chunks' results are combined in index
// order.  A row's arithmetic therefore depends on its own length alone, however the work is spread.
inline constexpr uint32_t kAttentionChunk = 256;

// Device resident, rewritten by every upload: all that varies between two passes of one graph key, beside the arrays.
struct PassHeader {
  uint32_t num_rows;      // live rows (a decode's padding not counted)
  uint32_t num_seqs;      // live sequences
  uint32_t num_outputs;   // live outputs
  uint32_t table_stride;  // entries per row of block_table in this upload
  int32_t active_slot;    // adapter slot of route `active`; -1 = none
  uint32_t num_chunks;    // attention chunks of all rows: the last entry of chunk_start
  uint32_t reserved[10];
};

// One pass's attention metadata: device addresses and two counts, handed by value to each layer.  Kernels read the table's stride
// from PassHeader::table_stride, never from max_blocks_per_seq: a captured graph would replay the stride of the capture.
struct AttnMetadata {
  DevicePtr<const uint32_t> positions;    // [rows]; the T stream under MRoPE
  DevicePtr<const uint32_t> positions_h;  // [rows]; the same address as positions unless the pass uses MRoPE streams
  DevicePtr<const uint32_t> positions_w;  // [rows]; likewise
  DevicePtr<const int64_t> slot;          // [rows] KV write slot = block x block_size + offset; < 0: the row writes nothing
  DevicePtr<const uint32_t> seq_len;      // [num_seqs] length after the pass; 0: the sequence's rows read nothing
  DevicePtr<const int32_t> block_table;   // [num_seqs, stride] row-major
  DevicePtr<const uint32_t> query_start;  // [num_seqs + 1]; null on decode and on a prefill of one sequence
  DevicePtr<const int32_t> seq_slot;      // [rows] adapter slot, < 0 = no delta; null = no row applies one
  DevicePtr<const int32_t> moe_row_adapter;  // [rows] expert-delta slot, < 0 = none; null = no row folds one
  uint32_t max_blocks_per_seq;            // entries per row of block_table
  uint32_t num_seqs;                      // padding included; 1 for one sequence

  friend constexpr bool operator==(const AttnMetadata&, const AttnMetadata&) = default;
};

// The metadata of a decode pass with one row per sequence, seen from row `base` (< num_seqs).
constexpr AttnMetadata row_view(const AttnMetadata& all, uint32_t base) {
  AttnMetadata view = all;
  view.positions = all.positions.advanced(base);
  view.positions_h = all.positions_h.advanced(base);
  view.positions_w = all.positions_w.advanced(base);
  view.slot = all.slot.advanced(base);
  view.seq_len = all.seq_len.advanced(base);
  view.block_table = all.block_table.advanced(uint64_t{base} * all.max_blocks_per_seq);
  view.query_start = all.query_start.advanced(base);
  view.seq_slot = all.seq_slot.advanced(base);
  view.moe_row_adapter = all.moe_row_adapter.advanced(base);
  view.num_seqs = all.num_seqs - base;
  return view;
}

static_assert(sizeof(PassHeader) == 64 && std::is_trivially_copyable_v<PassHeader>);
static_assert(sizeof(AttnMetadata) == 80 && std::is_trivially_copyable_v<AttnMetadata>);
static_assert(offsetof(AttnMetadata, slot) == 24 && offsetof(AttnMetadata, moe_row_adapter) == 64);
static_assert(offsetof(AttnMetadata, max_blocks_per_seq) == 72);

}  // namespace tdl
