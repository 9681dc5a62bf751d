// Where things lie in the metadata block.  One device block per engine holds two groups, decode's compact one first; each group is a
// header and 256-byte-aligned sections, sized by the largest pass of its kind, with the block table last.  An upload copies one
// contiguous prefix of its group.  Offsets depend on the engine's limits alone, so every address is fixed for the engine's life.
#pragma once
#include <cstdint>

#include "kernels/step_args.h"

namespace tdl {

inline constexpr uint64_t kSectionAlign = 256;
inline constexpr uint64_t kAbsent = UINT64_MAX;  // a section that the engine's configuration never needs

// Offsets in bytes from the start of the block.
struct GroupLayout {
  uint32_t max_rows = 0, max_seqs = 0, max_outputs = 0, max_table = 0;  // table entries per sequence
  uint64_t header = 0;
  uint64_t token_ids = 0, token_from = 0, positions = 0, slot = 0, chunk_start = 0;  // by row (chunk_start: rows + 1)
  uint64_t positions_h = kAbsent, positions_w = kAbsent;                             // prefill of an engine with MRoPE
  uint64_t seq_len = 0, query_start = kAbsent;                                       // by sequence (query_start: + 1, prefill)
  uint64_t output_row = 0;
  uint64_t seq_slot = kAbsent, moe_row_adapter = kAbsent;                            // engines with adapters
  uint64_t block_table = 0;
  uint64_t end = 0;
};

struct BlockLayout {
  GroupLayout decode, prefill;
  uint64_t bytes = 0;
};

struct LayoutLimits {
  uint32_t max_seqs, max_rows_per_seq, max_prefill_rows, max_outputs;
  uint32_t max_table;  // blocks of the longest sequence
  bool mrope, adapters, expert_adapters;
};

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

constexpr GroupLayout make_group(uint64_t start, bool prefill, uint32_t max_rows, uint32_t max_seqs, uint32_t max_outputs,
                                 const LayoutLimits& limits) {
  GroupLayout group;
  group.max_rows = max_rows;
  group.max_seqs = max_seqs;
  group.max_outputs = max_outputs;
  group.max_table = limits.max_table;
  uint64_t at = start;
  const auto section = [&at](uint64_t count, uint64_t element) {
    const uint64_t offset = at;
    at = align_up(at + count * element, kSectionAlign);
    return offset;
  };
  group.header = section(1, sizeof(PassHeader));
  group.token_ids = section(max_rows, 4);
  group.token_from = section(max_rows, 4);
  group.positions = section(max_rows, 4);
  group.slot = section(max_rows, 8);
  group.chunk_start = section(uint64_t{max_rows} + 1, 4);
  group.seq_len = section(max_seqs, 4);
  group.output_row = section(max_outputs, 4);
  if (prefill) group.query_start = section(uint64_t{max_seqs} + 1, 4);
  if (prefill && limits.mrope) {
    group.positions_h = section(max_rows, 4);
    group.positions_w = section(max_rows, 4);
  }
  if (limits.adapters) group.seq_slot = section(max_rows, 4);
  if (limits.expert_adapters) group.moe_row_adapter = section(max_rows, 4);
  group.block_table = section(uint64_t{max_seqs} * limits.max_table, 4);
  group.end = at;
  return group;
}

constexpr BlockLayout make_layout(const LayoutLimits& limits) {
  BlockLayout layout;
  layout.decode = make_group(0, false, limits.max_seqs * limits.max_rows_per_seq, limits.max_seqs, limits.max_outputs, limits);
  layout.prefill = make_group(layout.decode.end, true, limits.max_prefill_rows, limits.max_seqs, limits.max_outputs, limits);
  layout.bytes = layout.prefill.end;
  return layout;
}

}  // namespace tdl
