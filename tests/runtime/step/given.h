// An upload whose arrays a test owns and may change or leave out, and the limits it is checked against.
#pragma once
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/step/validate.h"

namespace tdl::test {

template <class T>
using Maybe = std::optional<std::vector<T>>;  // nullopt = a null array

// Never null, so that an array of no elements differs from one that is not there.
template <class T>
const T* pointer(const Maybe<T>& array) {
  static const T kNone{};
  return !array ? nullptr : array->empty() ? &kNone : array->data();
}

struct Given {
  uint32_t num_rows = 0, num_seqs = 0, max_blocks_per_seq = 0, num_outputs = 0;
  Maybe<uint32_t> token_ids, positions, positions_h, positions_w, seq_len, query_start;
  Maybe<int32_t> token_from, block_table, seq_slot, moe_row_adapter, output_row;
  Maybe<int64_t> slot;

  Upload upload() const {
    Upload u;
    u.num_rows = num_rows;
    u.num_seqs = num_seqs;
    u.max_blocks_per_seq = max_blocks_per_seq;
    u.num_outputs = num_outputs;
    u.token_ids = pointer(token_ids);
    u.token_from = pointer(token_from);
    u.positions = pointer(positions);
    u.positions_h = pointer(positions_h);
    u.positions_w = pointer(positions_w);
    u.slot = pointer(slot);
    u.seq_len = pointer(seq_len);
    u.block_table = pointer(block_table);
    u.query_start = pointer(query_start);
    u.seq_slot = pointer(seq_slot);
    u.moe_row_adapter = pointer(moe_row_adapter);
    u.output_row = pointer(output_row);
    return u;
  }
  void outputs(std::vector<int32_t> rows) {
    num_outputs = static_cast<uint32_t>(rows.size());
    output_row = std::move(rows);
  }
};

// One sequence of a pass: its rows, its length after it, its blocks.
struct Seq {
  uint32_t rows, length;
  std::vector<int32_t> blocks;
};

// The plain upload of some sequences: token and position of a row are its KV index, slots are implicit, unused table entries -7.
inline Given given(const std::vector<Seq>& seqs, bool ragged) {
  Given g;
  g.num_seqs = static_cast<uint32_t>(seqs.size());
  for (const Seq& s : seqs) g.max_blocks_per_seq = std::max(g.max_blocks_per_seq, static_cast<uint32_t>(s.blocks.size()));
  std::vector<uint32_t> tokens, lengths, starts;
  std::vector<int32_t> table;
  for (const Seq& s : seqs) {
    starts.push_back(static_cast<uint32_t>(tokens.size()));
    for (uint32_t i = 0; i < s.rows; ++i) tokens.push_back(s.length ? s.length - s.rows + i : 0);
    lengths.push_back(s.length);
    std::vector<int32_t> row = s.blocks;
    row.resize(g.max_blocks_per_seq, -7);
    table.insert(table.end(), row.begin(), row.end());
  }
  starts.push_back(static_cast<uint32_t>(tokens.size()));
  g.num_rows = static_cast<uint32_t>(tokens.size());
  g.token_ids = g.positions = tokens;
  g.seq_len = lengths;
  g.block_table = table;
  if (ragged) g.query_start = starts;
  return g;
}

inline uint32_t begin_of(const Given& g, const PassLimits& pass, uint32_t s) { return first_row(g.upload(), pass, s); }

// The slots that the table gives, spelled out.
inline std::vector<int64_t> implied_slots(const Given& g, const PassLimits& pass, uint32_t block_size) {
  std::vector<int64_t> slots;
  for (uint32_t s = 0; s < g.num_seqs; ++s) {
    const uint32_t begin = begin_of(g, pass, s), end = begin_of(g, pass, s + 1), length = (*g.seq_len)[s];
    for (uint32_t row = begin; row < end; ++row) {
      const uint32_t index = length - (end - row);
      slots.push_back(length == 0 ? -1 : int64_t{(*g.block_table)[s * g.max_blocks_per_seq + index / block_size]} * block_size + index % block_size);
    }
  }
  return slots;
}

// An engine and a pass of a size that shows everything: blocks of 4 positions, 8 blocks, sequences of at most 20 tokens.
struct Bench {
  StepLimits limits{};
  PassLimits pass{};
  PreviousOutputs previous;
  Maybe<uint32_t> references;  // of a pool

  explicit Bench(PassKind kind, uint32_t rows_per_seq = 1) {
    limits.vocab_size = 50;
    limits.block_size = 4;
    limits.num_blocks = 8;
    limits.max_context = 20;
    limits.max_positions = 24;
    limits.max_outputs = 6;
    limits.max_adapters = 2;
    limits.mrope = false;
    limits.buckets = default_buckets(4);
    pass = {kind, 4, kind == PassKind::decode ? rows_per_seq : 1, kind == PassKind::decode ? 4 * rows_per_seq : 16};
  }
  // Validates, and fails the test unless the scratch is all zero afterwards.
  Result<PassShape> run(const Given& g) const {
    StepScratch scratch(limits.num_blocks, limits.block_size);
    auto result = validate(g.upload(), pass, limits, previous, pointer(references), scratch);
    uint32_t blocks_set = 0;
    for (uint32_t b = 0; b < limits.num_blocks; ++b) blocks_set += scratch.block_is_set(b);
    CHECK(scratch.count_slots(0, limits.num_blocks * limits.block_size) == 0);
    CHECK(blocks_set == 0);
    return result;
  }
  PassShape accept(const Given& g) const {
    auto result = run(g);
    REQUIRE_MESSAGE(result.ok(), result.status().message());
    return *result;
  }
  void refuse(const Given& g, Code code, int32_t row, int32_t seq, const char* part) const {
    const Status status = run(g).status();
    CAPTURE(std::string(status.message()));
    CHECK(status.code() == code);
    CHECK(status.row() == row);
    CHECK(status.seq() == seq);
    CHECK(std::string(status.message()).find(part) != std::string::npos);
  }
};

}  // namespace tdl::test
