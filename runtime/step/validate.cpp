#include "runtime/step/validate.h"

#include <algorithm>

#include "kernels/core/paging.h"
#include "kernels/step_args.h"

namespace tdl {
namespace {

Status check_arrays(const Upload& u) {
  if (!u.positions) return fail(Code::invalid_argument, "positions is null");
  if (!u.seq_len) return fail(Code::invalid_argument, "seq_len is null");
  if (!u.block_table && u.max_blocks_per_seq) return fail(Code::invalid_argument, "block_table is null");
  if (!u.token_ids && !u.token_from) return fail(Code::invalid_argument, "token_ids is null");
  return {};
}

Status check_rows_of_sequences(const Upload& u, const PassLimits& pass) {
  if (pass.kind == PassKind::decode) {
    if (u.query_start) return fail(Code::invalid_argument, "query_start on a decode pass; its sequences have %u rows each", pass.rows_per_seq);
    if (uint64_t{u.num_seqs} * pass.rows_per_seq != u.num_rows)
      return fail(Code::invalid_argument, "%u rows, but %u sequences of %u rows each", u.num_rows, u.num_seqs, pass.rows_per_seq);
    return {};
  }
  if (!u.query_start) {
    if (u.num_seqs != 1) return fail(Code::invalid_argument, "a prefill of %u sequences needs query_start", u.num_seqs);
    return {};
  }
  if (u.query_start[0] != 0) return fail(Code::invalid_argument, "query_start begins with %u, not 0", u.query_start[0]).at_seq(0);
  for (uint32_t s = 0; s < u.num_seqs; ++s) {
    if (u.query_start[s + 1] <= u.query_start[s] || u.query_start[s + 1] > u.num_rows)
      return fail(Code::invalid_argument, "query_start gives sequence %u the rows %u to %u, of %u rows", s, u.query_start[s], u.query_start[s + 1],
                  u.num_rows).at_seq(s);
  }
  if (u.query_start[u.num_seqs] != u.num_rows)
    return fail(Code::invalid_argument, "query_start ends at %u, not at the %u rows", u.query_start[u.num_seqs], u.num_rows).at_seq(u.num_seqs - 1);
  return {};
}

// A row's refusal names its sequence too.
Status in_sequence(Status status, uint32_t s) { return status.ok() ? status : status.at_seq(s); }

Status check_token(const Upload& u, const StepLimits& limits, const PreviousOutputs& previous, uint32_t row, bool* from_device) {
  const int32_t from = u.token_from ? u.token_from[row] : -1;
  if (from < -1) return fail(Code::range, "token_from %d in row %u", from, row).at_row(row);
  if (from >= 0) {
    if (!previous.sampled) return fail(Code::state, "row %u takes a token from the previous submit, which has sampled none", row).at_row(row);
    if (static_cast<uint32_t>(from) >= previous.count || !previous.live[from])
      return fail(Code::range, "token_from %d in row %u: the previous submit has no such token", from, row).at_row(row);
    *from_device = true;
    return {};
  }
  if (!u.token_ids) return fail(Code::invalid_argument, "token_ids is null, and row %u needs it", row).at_row(row);
  if (u.token_ids[row] >= limits.vocab_size)
    return fail(Code::range, "token %u in row %u, the vocabulary has %u", u.token_ids[row], row, limits.vocab_size).at_row(row);
  return {};
}

Status check_position(const Upload& u, const StepLimits& limits, const PassLimits& pass, uint32_t row) {
  for (const uint32_t* stream : {u.positions, u.positions_h, u.positions_w}) {
    if (!stream) continue;
    if (stream[row] >= limits.max_positions)
      return fail(Code::range, "position %u in row %u, the limit is %u", stream[row], row, limits.max_positions).at_row(row);
    if (stream[row] == u.positions[row]) continue;
    if (pass.kind == PassKind::decode)
      return fail(Code::unsupported, "row %u: position streams that differ, on a decode pass", row).at_row(row);
    if (!limits.mrope) return fail(Code::unsupported, "row %u: position streams that differ, on a model without MRoPE", row).at_row(row);
  }
  return {};
}

Status check_adapters(const Upload& u, const StepLimits& limits, uint32_t row) {
  const int32_t slot = u.seq_slot ? u.seq_slot[row] : kAdapterBase;
  if (slot < kAdapterActive || (slot >= 0 && static_cast<uint32_t>(slot) >= limits.max_adapters))
    return fail(Code::range, "seq_slot %d in row %u, the engine has %u adapter slots", slot, row, limits.max_adapters).at_row(row);
  const int32_t expert = u.moe_row_adapter ? u.moe_row_adapter[row] : -1;
  if (expert >= 0 && static_cast<uint32_t>(expert) >= limits.max_adapters)
    return fail(Code::range, "moe_row_adapter %d in row %u, the engine has %u adapter slots", expert, row, limits.max_adapters).at_row(row);
  return {};
}

// Length, table and ownership of what sequence s reads.
Status check_sequence(const Upload& u, const StepLimits& limits, const uint32_t* references, uint32_t s, uint32_t n) {
  const uint32_t length = u.seq_len[s];
  if (length == 0) return {};
  if (length < n) return fail(Code::range, "seq_len %u of sequence %u is less than its %u rows", length, s, n).at_seq(s);
  if (length > limits.max_context)
    return fail(Code::range, "seq_len %u of sequence %u, the longest is %u", length, s, limits.max_context).at_seq(s);
  const uint32_t blocks = blocks_for(length, limits.block_size);
  if (blocks > u.max_blocks_per_seq)
    return fail(Code::range, "seq_len %u of sequence %u needs %u blocks, block_table has %u", length, s, blocks, u.max_blocks_per_seq).at_seq(s);
  const int32_t* table = u.block_table + uint64_t{s} * u.max_blocks_per_seq;
  for (uint32_t i = 0; i < blocks; ++i) {
    if (static_cast<uint32_t>(table[i]) >= limits.num_blocks)
      return fail(Code::range, "block %d at index %u of sequence %u, there are %u", table[i], i, s, limits.num_blocks).at_seq(s);
    if (references && references[table[i]] == 0)
      return fail(Code::conflict, "block %d of sequence %u is free", table[i], s).at_seq(s);
  }
  return {};
}

// A row's write slot: in range, in a block of its sequence, owned alone, written once.  Marks it in the scratch.
Status check_slot(const Upload& u, const StepLimits& limits, const uint32_t* references, StepScratch& scratch, uint32_t s, uint32_t row,
                  uint32_t index) {
  const int64_t slot = write_slot(u, limits.block_size, s, row, index);
  if (slot < -1 || slot >= int64_t{limits.num_blocks} * limits.block_size)
    return fail(Code::range, "slot %lld in row %u, there are %lld", static_cast<long long>(slot), row,
                static_cast<long long>(int64_t{limits.num_blocks} * limits.block_size)).at_row(row).at_seq(s);
  if (slot < 0) return {};
  if (u.seq_len[s] == 0)
    return fail(Code::conflict, "row %u writes slot %lld, but its sequence %u sits out (seq_len 0)", row, static_cast<long long>(slot), s).at_row(row).at_seq(s);
  const auto block = static_cast<int32_t>(slot / limits.block_size);
  if (u.slot) {
    const int32_t* table = u.block_table + uint64_t{s} * u.max_blocks_per_seq;
    const uint32_t blocks = blocks_for(u.seq_len[s], limits.block_size);
    // Nearly always the block of the row's own index; else anywhere in the table.
    if (table[index / limits.block_size] != block && std::find(table, table + blocks, block) == table + blocks)
      return fail(Code::conflict, "slot %lld in row %u lies in block %d, outside the table of sequence %u", static_cast<long long>(slot), row, block,
                  s).at_row(row).at_seq(s);
  }
  if (references && references[block] != 1)
    return fail(Code::conflict, "row %u writes block %d, which has %u references; copy it first", row, block, references[block]).at_row(row).at_seq(s);
  if (scratch.test_and_set_slot(static_cast<uint64_t>(slot)))
    return fail(Code::conflict, "slot %lld is written twice, again in row %u", static_cast<long long>(slot), row).at_row(row).at_seq(s);
  scratch.set_block(static_cast<uint32_t>(block));
  return {};
}

// How many of the `total` writes at offsets below `readable` of the block at place `i` of its table a sequence makes itself, for that
// place.  A slot that the caller gave is written for the place of the row's own KV index, else for the first place that has its block.
uint32_t own_writes(const Upload& u, const PassLimits& pass, const StepLimits& limits, uint32_t s, uint32_t i, uint32_t readable, uint32_t total) {
  const uint32_t begin = first_row(u, pass, s), end = first_row(u, pass, s + 1), first = i * limits.block_size;
  const uint32_t written_from = u.seq_len[s] - (end - begin);
  const uint32_t from = std::max(written_from, first), to = std::max(from, first + readable);
  if (!u.slot) return to - from;
  const int32_t* table = u.block_table + uint64_t{s} * u.max_blocks_per_seq;
  uint32_t count = 0;
  for (uint32_t index = from; index < to; ++index) count += u.slot[begin + index - written_from] == slot_of(table[i], index, limits.block_size);
  if (count == total || std::find(table, table + i, table[i]) != table + i) return count;  // all are nearly always where their index says
  const int64_t start = slot_of(table[i], 0, limits.block_size);
  for (uint32_t row = begin; row < end; ++row) {
    const uint32_t index = written_from + row - begin;
    const bool elsewhere = u.slot[row] != slot_of(table[index / limits.block_size], index, limits.block_size);
    count += elsewhere && u.slot[row] >= start && u.slot[row] < start + readable;
  }
  return count;
}

// No sequence may read a slot that is written in the same pass for another sequence, or for another place in its own table: what it
// read would depend on the kernels' order.
Status check_foreign_writes(const Upload& u, const PassLimits& pass, const StepLimits& limits, const StepScratch& scratch) {
  for (uint32_t s = 0; s < u.num_seqs; ++s) {
    const uint32_t length = u.seq_len[s];
    const int32_t* table = u.block_table + uint64_t{s} * u.max_blocks_per_seq;
    const uint32_t blocks = blocks_for(length, limits.block_size);
    for (uint32_t i = 0; i < blocks; ++i) {
      const auto block = static_cast<uint32_t>(table[i]);
      if (!scratch.block_is_set(block)) continue;
      const uint32_t readable = std::min(limits.block_size, length - i * limits.block_size);
      const uint32_t total = scratch.count_slots(uint64_t{block} * limits.block_size, readable);
      if (total != own_writes(u, pass, limits, s, i, readable, total))
        return fail(Code::conflict, "sequence %u reads block %u, where this pass writes for another sequence or place", s, block).at_seq(s);
    }
  }
  return {};
}

Status check_outputs(const Upload& u) {
  if (!u.output_row) return {};
  for (uint32_t o = 0; o < u.num_outputs; ++o) {
    const int32_t row = u.output_row[o];
    if (row < 0 || static_cast<uint32_t>(row) >= u.num_rows)
      return fail(Code::range, "output_row %d at index %u, the pass has %u rows", row, o, u.num_rows).at_row(std::max(row, -1));
    if (o > 0 && row <= u.output_row[o - 1])
      return fail(Code::invalid_argument, "output_row is not ascending at index %u", o).at_row(row);
  }
  return {};
}

// Marks every slot that is written, and checks each against the others; `marked` counts the rows that may have left marks.
Status check_writes(const Upload& u, const PassLimits& pass, const StepLimits& limits, const uint32_t* references, StepScratch& scratch,
                    uint32_t* marked) {
  for (uint32_t s = 0; s < u.num_seqs; ++s) {
    const uint32_t begin = first_row(u, pass, s), end = first_row(u, pass, s + 1);
    for (uint32_t row = begin; row < end; ++row) {
      TDL_TRY(check_slot(u, limits, references, scratch, s, row, kv_index(u.seq_len[s], end - begin, row - begin)));
      *marked = row + 1;
    }
  }
  return check_foreign_writes(u, pass, limits, scratch);
}

void clear_marks(const Upload& u, const PassLimits& pass, const StepLimits& limits, StepScratch& scratch, uint32_t marked) {
  for (uint32_t s = 0; s < u.num_seqs && first_row(u, pass, s) < marked; ++s) {
    const uint32_t begin = first_row(u, pass, s), end = first_row(u, pass, s + 1);
    for (uint32_t row = begin; row < std::min(end, marked); ++row) {
      const int64_t slot = write_slot(u, limits.block_size, s, row, kv_index(u.seq_len[s], end - begin, row - begin));
      if (slot < 0) continue;
      scratch.clear_slot(static_cast<uint64_t>(slot));
      scratch.clear_block(static_cast<uint32_t>(slot / limits.block_size));
    }
  }
}

}  // namespace

Status check_counts(const Upload& u, const PassLimits& pass, const StepLimits& limits) {
  if (u.num_seqs == 0 || u.num_rows == 0) return fail(Code::invalid_argument, "%u rows of %u sequences: nothing to run", u.num_rows, u.num_seqs);
  if (u.num_seqs > pass.max_seqs)
    return fail(Code::limit, "%u sequences, the pass was begun for %u", u.num_seqs, pass.max_seqs).needs(u.num_seqs);
  if (u.num_rows > pass.max_rows) return fail(Code::limit, "%u rows, the pass was begun for %u", u.num_rows, pass.max_rows).needs(u.num_rows);
  const uint32_t outputs = u.output_row ? u.num_outputs : u.num_seqs;
  if (outputs > limits.max_outputs) return fail(Code::limit, "%u outputs, the engine was created for %u", outputs, limits.max_outputs).needs(outputs);
  return {};
}

int64_t write_slot(const Upload& u, uint32_t block_size, uint32_t s, uint32_t row, uint32_t index) {
  if (u.slot) return u.slot[row];
  if (u.seq_len[s] == 0) return -1;
  return slot_of(u.block_table[uint64_t{s} * u.max_blocks_per_seq + index / block_size], index, block_size);
}

Result<PassShape> validate(const Upload& u, const PassLimits& pass, const StepLimits& limits, const PreviousOutputs& previous,
                           const uint32_t* references, StepScratch& scratch) {
  PassShape shape;
  shape.kind = pass.kind;
  TDL_TRY(check_counts(u, pass, limits));
  TDL_TRY(check_arrays(u));
  TDL_TRY(check_rows_of_sequences(u, pass));
  TDL_TRY(check_outputs(u));
  for (uint32_t s = 0; s < u.num_seqs; ++s) {
    const uint32_t begin = first_row(u, pass, s), end = first_row(u, pass, s + 1);
    TDL_TRY(check_sequence(u, limits, references, s, end - begin));
    const uint32_t length = u.seq_len[s];
    for (uint32_t row = begin; row < end; ++row) {
      TDL_TRY(in_sequence(check_adapters(u, limits, row), s));
      if (length == 0) continue;  // tokens and positions of a sequence that sits out are not looked at
      TDL_TRY(in_sequence(check_token(u, limits, previous, row, &shape.token_from), s));
      TDL_TRY(in_sequence(check_position(u, limits, pass, row), s));
      const uint64_t chunks = uint64_t{shape.chunks} + kv_index(length, end - begin, row - begin) / kAttentionChunk + 1;
      if (chunks > INT32_MAX) return fail(Code::limit, "more than 2^31 attention chunks in a pass, at row %u", row).at_row(row).at_seq(s);
      shape.chunks = static_cast<uint32_t>(chunks);
    }
    shape.stride = std::max(shape.stride, blocks_for(length, limits.block_size));
  }
  uint32_t marked = 0;
  const Status writes = check_writes(u, pass, limits, references, scratch, &marked);
  clear_marks(u, pass, limits, scratch, marked);
  TDL_TRY(writes);

  shape.rows = u.num_rows;
  shape.seqs = u.num_seqs;
  shape.outputs = u.output_row ? u.num_outputs : u.num_seqs;
  shape.ragged = u.query_start != nullptr && u.num_seqs > 1;
  if (pass.kind == PassKind::prefill) {
    shape.padded_rows = shape.rows;
    shape.padded_seqs = shape.seqs;
    shape.padded_outputs = shape.outputs;
  } else {
    shape.rows_per_seq = pass.rows_per_seq;
    shape.bucket = shape.padded_seqs = bucket_for(limits.buckets, u.num_seqs);
    shape.padded_rows = shape.bucket * pass.rows_per_seq;
    shape.padded_outputs = std::min(shape.bucket, limits.max_outputs);
    if (shape.outputs > shape.padded_outputs) {
      shape.every_row = true;
      shape.padded_outputs = std::min(shape.padded_rows, limits.max_outputs);
    }
  }
  return shape;
}

}  // namespace tdl
