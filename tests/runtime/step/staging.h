// A poisoned staging of a whole block, the parts of it that a pass uses, and random passes to write into it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "runtime/step/metadata.h"
#include "tests/runtime/step/given.h"

namespace tdl::test {

struct StagingOptions {
  bool adapters = false;
};

struct Staging {
  static constexpr std::byte kPoison{0xA5};
  BlockLayout layout;
  std::vector<std::byte> bytes;
  const Bench& bench;

  explicit Staging(const Bench& b, StagingOptions options = {}) : bench(b) {
    const uint32_t table = (b.limits.max_context + b.limits.block_size - 1) / b.limits.block_size;
    layout = make_layout({b.pass.max_seqs, b.pass.rows_per_seq, 40, b.limits.max_outputs, table, false, options.adapters, options.adapters});
    bytes.assign(layout.bytes, kPoison);
  }
  const GroupLayout& group(PassKind kind) const { return kind == PassKind::decode ? layout.decode : layout.prefill; }
  uint64_t write(const Given& g, const PassShape& shape) {
    return write_staging(g.upload(), bench.pass, shape, bench.limits.block_size, group(shape.kind), bytes.data());
  }
  template <class T>
  std::vector<T> read(uint64_t offset, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes.data() + offset, sizeof(T) * count);
    return values;
  }
  bool untouched(uint64_t begin, uint64_t end) const {
    return std::all_of(bytes.begin() + static_cast<int64_t>(begin), bytes.begin() + static_cast<int64_t>(end), [](std::byte b) { return b == kPoison; });
  }

  // Copies an array to its own section and points at it there, as tdl_pass_map's callers do; nulls stay null.
  template <class T>
  void place(const Maybe<T>& array, uint64_t offset, bool in_place, const T** pointer) {
    if (!array || !in_place) return;
    if (!array->empty()) std::memcpy(bytes.data() + offset, array->data(), sizeof(T) * array->size());
    *pointer = reinterpret_cast<const T*>(bytes.data() + offset);
  }
  // Bit i of `which` says whether the i-th array lies in place.
  uint64_t write_in_place(const Given& g, const PassShape& shape, uint32_t which) {
    const GroupLayout& at = group(shape.kind);
    Upload u = g.upload();
    place(g.token_ids, at.token_ids, which & 1, &u.token_ids);
    place(g.token_from, at.token_from, which & 2, &u.token_from);
    place(g.positions, at.positions, which & 4, &u.positions);
    place(g.slot, at.slot, which & 8, &u.slot);
    place(g.seq_len, at.seq_len, which & 16, &u.seq_len);
    place(g.block_table, at.block_table, which & 32, &u.block_table);
    if (at.query_start != kAbsent) place(g.query_start, at.query_start, which & 64, &u.query_start);
    place(g.seq_slot, at.seq_slot, which & 128, &u.seq_slot);
    place(g.moe_row_adapter, at.moe_row_adapter, which & 256, &u.moe_row_adapter);
    place(g.output_row, at.output_row, which & 512, &u.output_row);
    return write_staging(u, bench.pass, shape, bench.limits.block_size, at, bytes.data());
  }
};

// Offset and bytes of what a pass's kernels may read.
inline std::vector<std::pair<uint64_t, uint64_t>> used_parts(const PassShape& shape, const GroupLayout& at) {
  const uint64_t rows = shape.padded_rows, seqs = shape.padded_seqs;
  std::vector<std::pair<uint64_t, uint64_t>> parts = {
      {at.header, sizeof(PassHeader)}, {at.token_ids, rows * 4},   {at.token_from, rows * 4},
      {at.positions, rows * 4},        {at.slot, rows * 8},        {at.chunk_start, (rows + 1) * 4},
      {at.seq_len, seqs * 4},          {at.output_row, uint64_t{shape.padded_outputs} * 4}, {at.block_table, seqs * shape.stride * 4}};
  if (shape.ragged) parts.push_back({at.query_start, (seqs + 1) * 4});
  if (at.seq_slot != kAbsent) parts.push_back({at.seq_slot, rows * 4});
  if (at.moe_row_adapter != kAbsent) parts.push_back({at.moe_row_adapter, rows * 4});
  return parts;
}

// One to eight sequences in blocks of 32, each with blocks of its own out of 64, some sitting out, in a table that is wider than needed.
inline Given random_pass(std::mt19937& dice, PassKind kind, uint32_t rows_per_seq) {
  const auto below = [&dice](uint32_t n) { return static_cast<uint32_t>(dice() % n); };
  std::vector<Seq> seqs(1 + below(8));
  int32_t block = 0;
  for (Seq& seq : seqs) {
    seq.rows = kind == PassKind::decode ? rows_per_seq : 1 + below(5);
    seq.length = below(5) == 0 ? 0 : seq.rows + below(250);
    for (uint32_t i = 0; i * 32 < seq.length; ++i) seq.blocks.push_back(block++);
    for (uint32_t extra = below(3); extra > 0; --extra) seq.blocks.push_back(-3);
  }
  Given g = given(seqs, kind == PassKind::prefill);
  if (g.max_blocks_per_seq == 0) g.block_table.reset();
  if (below(2)) g.token_from = std::vector<int32_t>(g.num_rows, -1);
  for (uint32_t row = 0; row < g.num_rows; ++row) (*g.token_ids)[row] = below(1000);
  if (below(2)) g.seq_slot = std::vector<int32_t>(g.num_rows, static_cast<int32_t>(below(2)));
  if (below(2)) g.moe_row_adapter = std::vector<int32_t>(g.num_rows, static_cast<int32_t>(below(2)));
  if (below(2)) {
    std::vector<int32_t> rows;
    for (uint32_t row = 0; row < g.num_rows && rows.size() < 8; ++row) {
      if (below(2)) rows.push_back(static_cast<int32_t>(row));
    }
    g.outputs(rows);
  }
  return g;
}

}  // namespace tdl::test
