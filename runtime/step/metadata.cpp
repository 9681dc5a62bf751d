#include "runtime/step/metadata.h"

#include <algorithm>
#include <cstring>

#include "kernels/core/paging.h"
#include "runtime/step/validate.h"

namespace tdl {
namespace {

template <class T>
T* at(std::byte* staging, uint64_t offset) {
  return reinterpret_cast<T*>(staging + offset);
}

// Live values, or `none` for a null array; then padding.
template <class T>
void fill(T* to, const T* from, uint32_t live, uint32_t padded, T none, T padding) {
  if (!from) std::fill(to, to + live, none);
  else if (from != to) std::memcpy(to, from, sizeof(T) * live);
  std::fill(to + live, to + padded, padding);
}

void write_table(const Upload& u, const PassShape& shape, uint32_t block_size, int32_t* to) {
  // Row s moves to a lower or the same address when the table is filled in place: ascending order is safe.
  for (uint32_t s = 0; s < shape.seqs; ++s) {
    int32_t* row = to + uint64_t{s} * shape.stride;
    const uint32_t blocks = blocks_for(u.seq_len[s], block_size);
    if (blocks) std::memmove(row, u.block_table + uint64_t{s} * u.max_blocks_per_seq, sizeof(int32_t) * blocks);
    std::fill(row + blocks, row + shape.stride, 0);
  }
  std::fill(to + uint64_t{shape.seqs} * shape.stride, to + uint64_t{shape.padded_seqs} * shape.stride, 0);
}

// What depends on a row's sequence: the write slot, the chunk count, and the inert values of a sequence that sits out.
void write_rows(const Upload& u, const PassLimits& pass, const PassShape& shape, uint32_t block_size, const GroupLayout& group,
                std::byte* staging) {
  auto* token = at<uint32_t>(staging, group.token_ids);
  auto* from = at<int32_t>(staging, group.token_from);
  auto* position = at<uint32_t>(staging, group.positions);
  auto* slot = at<int64_t>(staging, group.slot);
  auto* chunk = at<uint32_t>(staging, group.chunk_start);
  auto* seq_slot = group.seq_slot == kAbsent ? nullptr : at<int32_t>(staging, group.seq_slot);
  auto* expert = group.moe_row_adapter == kAbsent ? nullptr : at<int32_t>(staging, group.moe_row_adapter);
  uint32_t chunks = 0;
  for (uint32_t s = 0; s < shape.seqs; ++s) {
    const uint32_t begin = first_row(u, pass, s), end = first_row(u, pass, s + 1), length = u.seq_len[s];
    for (uint32_t row = begin; row < end; ++row) {
      const uint32_t index = kv_index(length, end - begin, row - begin);
      slot[row] = write_slot(u, block_size, s, row, index);
      chunk[row] = chunks;
      if (length) {
        chunks += index / kAttentionChunk + 1;
      } else {
        token[row] = position[row] = 0;
        from[row] = -1;
        if (seq_slot) seq_slot[row] = -1;
        if (expert) expert[row] = -1;
      }
    }
  }
  std::fill(slot + shape.rows, slot + shape.padded_rows, int64_t{-1});
  std::fill(chunk + shape.rows, chunk + shape.padded_rows + 1, chunks);
}

// Outputs of sequences that sit out become padding: they have no logits.
void write_outputs(const Upload& u, const PassLimits& pass, const PassShape& shape, int32_t* to) {
  uint32_t s = 0;
  for (uint32_t o = 0; o < shape.outputs; ++o) {
    const uint32_t row = u.output_row ? static_cast<uint32_t>(u.output_row[o]) : first_row(u, pass, o + 1) - 1;
    while (first_row(u, pass, s + 1) <= row) ++s;
    to[o] = u.seq_len[s] ? static_cast<int32_t>(row) : -1;
  }
  std::fill(to + shape.outputs, to + shape.padded_outputs, -1);
}

}  // namespace

uint64_t write_staging(const Upload& u, const PassLimits& pass, const PassShape& shape, uint32_t block_size, const GroupLayout& group,
                       std::byte* staging) {
  // The table and the rows read the caller's slot, seq_len and query_start, which may lie in the staging: they are written in place.
  fill(at<uint32_t>(staging, group.token_ids), u.token_ids, shape.rows, shape.padded_rows, 0u, 0u);
  fill(at<int32_t>(staging, group.token_from), u.token_from, shape.rows, shape.padded_rows, -1, -1);
  fill(at<uint32_t>(staging, group.positions), u.positions, shape.rows, shape.padded_rows, 0u, 0u);
  if (group.seq_slot != kAbsent) fill(at<int32_t>(staging, group.seq_slot), u.seq_slot, shape.rows, shape.padded_rows, -1, -1);
  if (group.moe_row_adapter != kAbsent) fill(at<int32_t>(staging, group.moe_row_adapter), u.moe_row_adapter, shape.rows, shape.padded_rows, -1, -1);
  write_outputs(u, pass, shape, at<int32_t>(staging, group.output_row));
  write_rows(u, pass, shape, block_size, group, staging);
  write_table(u, shape, block_size, at<int32_t>(staging, group.block_table));
  if (shape.ragged) fill(at<uint32_t>(staging, group.query_start), u.query_start, shape.seqs + 1, shape.seqs + 1, 0u, 0u);
  fill(at<uint32_t>(staging, group.seq_len), u.seq_len, shape.seqs, shape.padded_seqs, 0u, 0u);

  PassHeader header{};
  header.num_rows = shape.rows;
  header.num_seqs = shape.seqs;
  header.num_outputs = shape.outputs;
  header.table_stride = shape.stride;
  header.active_slot = -1;
  header.num_chunks = shape.chunks;
  std::memcpy(staging + group.header, &header, sizeof header);
  return group.block_table + uint64_t{shape.padded_seqs} * shape.stride * sizeof(int32_t);
}

AttnMetadata attn_metadata(const PassShape& shape, const GroupLayout& group, uint64_t base) {
  AttnMetadata meta;
  meta.positions = {base + group.positions};
  meta.positions_h = meta.positions_w = meta.positions;
  meta.slot = {base + group.slot};
  meta.seq_len = {base + group.seq_len};
  meta.block_table = {base + group.block_table};
  if (shape.ragged) meta.query_start = {base + group.query_start};
  meta.max_blocks_per_seq = shape.stride;
  meta.num_seqs = shape.padded_seqs;
  return meta;
}

Result<MetadataBlock> MetadataBlock::create(Device& device, const BlockLayout& layout, uint64_t address) {
  MetadataBlock block;
  block.device_ = &device;
  block.layout_ = layout;
  block.address_ = address;
  TDL_ASSIGN(block.pinned_, device.allocate_pinned(2 * layout.bytes));
  for (auto& event : block.copied_) {
    TDL_ASSIGN(event, device.create_event());
  }
  return block;
}

Status MetadataBlock::upload(const Upload& u, const PassLimits& pass, const PassShape& shape, uint32_t block_size, Stream& stream, uint64_t* uploaded) {
  const GroupLayout& to = group(pass.kind);
  const uint64_t end = write_staging(u, pass, shape, block_size, to, staging());
  TDL_TRY(device_->copy_to_device(address_ + to.header, staging() + to.header, end - to.header, stream));
  TDL_TRY(device_->record(*copied_[next_], stream));
  *uploaded = end - to.header;
  next_ ^= 1;
  return {};
}

}  // namespace tdl
