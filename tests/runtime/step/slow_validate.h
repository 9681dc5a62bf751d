// Validation as it is said in runtime/README.md and pass.h, without any care for speed: every reason that speaks against an upload.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tests/runtime/step/given.h"

namespace tdl::test {

struct Reason {
  Code code;
  int64_t row, seq;
  friend bool operator<(const Reason& a, const Reason& b) { return std::tie(a.code, a.row, a.seq) < std::tie(b.code, b.row, b.seq); }
};
using Reasons = std::set<Reason>;

// Rows of each sequence, as [first, last + 1).
using Spans = std::vector<std::pair<uint32_t, uint32_t>>;

// What is wrong with counts, null arrays and row spans; the elements make no sense before this is empty.
inline Reasons slow_structure(const Given& g, const Bench& b, Spans* spans) {
  Reasons reasons;
  const auto add = [&](Code code, int64_t row = -1, int64_t seq = -1) { reasons.insert({code, row, seq}); };
  if (g.num_rows == 0 || g.num_seqs == 0) add(Code::invalid_argument);
  const uint32_t outputs = g.output_row ? g.num_outputs : g.num_seqs;
  if (g.num_seqs > b.pass.max_seqs || g.num_rows > b.pass.max_rows || outputs > b.limits.max_outputs) add(Code::limit);
  if (!g.positions || !g.seq_len || (!g.block_table && g.max_blocks_per_seq > 0) || (!g.token_ids && !g.token_from)) add(Code::invalid_argument);
  if (b.pass.kind == PassKind::decode) {
    if (g.query_start || g.num_rows != g.num_seqs * b.pass.rows_per_seq) add(Code::invalid_argument);
    for (uint32_t s = 0; s < g.num_seqs; ++s) spans->push_back({s * b.pass.rows_per_seq, (s + 1) * b.pass.rows_per_seq});
  } else if (!g.query_start) {
    if (g.num_seqs != 1) add(Code::invalid_argument);
    spans->push_back({0, g.num_rows});
  } else {
    const auto& start = *g.query_start;
    if (start[0] != 0) add(Code::invalid_argument, -1, 0);
    for (uint32_t s = 0; s + 1 < start.size(); ++s) {
      if (start[s + 1] <= start[s] || start[s + 1] > g.num_rows) add(Code::invalid_argument, -1, s);
      spans->push_back({start[s], start[s + 1]});
    }
    if (start.back() != g.num_rows) add(Code::invalid_argument, -1, int64_t{g.num_seqs} - 1);
  }
  if (g.output_row) {
    for (uint32_t o = 0; o < g.num_outputs && o < g.output_row->size(); ++o) {
      const int32_t row = (*g.output_row)[o];
      if (row < 0 || row >= static_cast<int64_t>(g.num_rows)) add(Code::range, std::max(row, -1));
      if (o > 0 && row <= (*g.output_row)[o - 1]) add(Code::invalid_argument, row);
    }
  }
  return reasons;
}

inline void slow_row(const Given& g, const Bench& b, uint32_t s, uint32_t row, Reasons* reasons) {
  const auto add = [&](Code code) { reasons->insert({code, row, s}); };
  const auto most = static_cast<int64_t>(b.limits.max_adapters);
  if (g.seq_slot && ((*g.seq_slot)[row] < -2 || (*g.seq_slot)[row] >= most)) add(Code::range);
  if (g.moe_row_adapter && (*g.moe_row_adapter)[row] >= most) add(Code::range);
  if ((*g.seq_len)[s] == 0) return;
  const int64_t from = g.token_from ? (*g.token_from)[row] : -1;
  if (from < -1) add(Code::range);
  if (from >= 0) {
    if (!b.previous.sampled) add(Code::state);
    else if (from >= b.previous.count || !b.previous.live[from]) add(Code::range);
  }
  if (from == -1 && !g.token_ids) add(Code::invalid_argument);
  if (from == -1 && g.token_ids && (*g.token_ids)[row] >= b.limits.vocab_size) add(Code::range);
  for (const Maybe<uint32_t>* stream : {&g.positions, &g.positions_h, &g.positions_w}) {
    if (!*stream) continue;
    if ((**stream)[row] >= b.limits.max_positions) add(Code::range);
    else if ((**stream)[row] != (*g.positions)[row] && (b.pass.kind == PassKind::decode || !b.limits.mrope)) add(Code::unsupported);
  }
}

// Length and table of one sequence; whether they are sound.
inline bool slow_sequence(const Given& g, const Bench& b, uint32_t s, uint32_t rows, Reasons* reasons) {
  const size_t before = reasons->size();
  const uint32_t length = (*g.seq_len)[s], size = b.limits.block_size;
  if (length == 0) return true;
  if (length < rows || length > b.limits.max_context || length > uint64_t{g.max_blocks_per_seq} * size) {
    reasons->insert({Code::range, -1, s});
    return false;
  }
  for (uint32_t i = 0; i * size < length; ++i) {
    const int64_t block = (*g.block_table)[s * g.max_blocks_per_seq + i];
    if (block < 0 || block >= b.limits.num_blocks) reasons->insert({Code::range, -1, s});
    else if (b.references && (*b.references)[block] == 0) reasons->insert({Code::conflict, -1, s});
  }
  return reasons->size() == before;
}

// Slots as sets: who writes each, who reads each.
inline void slow_slots(const Given& g, const Bench& b, const Spans& spans, Reasons* reasons) {
  const uint32_t size = b.limits.block_size;
  std::map<int64_t, std::vector<std::pair<uint32_t, uint32_t>>> readers;  // slot -> (sequence, KV index)
  std::map<int64_t, uint32_t> writers;                                   // slot -> sequence
  std::vector<std::set<int64_t>> tables(spans.size());
  const auto slot_at = [&](uint32_t s, uint32_t index) { return int64_t{(*g.block_table)[s * g.max_blocks_per_seq + index / size]} * size + index % size; };
  for (uint32_t s = 0; s < spans.size(); ++s) {
    for (uint32_t index = 0; index < (*g.seq_len)[s]; ++index) {
      readers[slot_at(s, index)].push_back({s, index});
      tables[s].insert((*g.block_table)[s * g.max_blocks_per_seq + index / size]);
    }
  }
  for (uint32_t s = 0; s < spans.size(); ++s) {
    const auto [begin, end] = spans[s];
    for (uint32_t row = begin; row < end; ++row) {
      const uint32_t length = (*g.seq_len)[s];
      const int64_t slot = g.slot ? (*g.slot)[row] : length == 0 ? -1 : slot_at(s, length - (end - row));
      if (slot == -1) continue;
      if (slot < 0 || slot >= int64_t{b.limits.num_blocks} * size) {
        reasons->insert({Code::range, row, s});
        continue;
      }
      const bool outside = tables[s].count(slot / size) == 0;  // also of a sequence that sits out
      const bool shared = b.references && (*b.references)[slot / size] != 1;
      if (outside || shared || writers.count(slot)) reasons->insert({Code::conflict, row, s});
      else writers[slot] = s;
    }
  }
  // A written slot is read at one place, of the sequence that writes it, or nowhere.
  for (const auto& [slot, writer] : writers) {
    const auto& places = readers[slot];
    std::set<uint32_t> others;
    for (const auto& [s, index] : places) others.insert(s);
    const bool twice = std::count_if(places.begin(), places.end(), [w = writer](const auto& place) { return place.first == w; }) > 1;
    if (!twice) others.erase(writer);
    for (const uint32_t s : others) reasons->insert({Code::conflict, -1, s});
  }
}

inline Reasons slow_validate(const Given& g, const Bench& b) {
  Spans spans;
  Reasons reasons = slow_structure(g, b, &spans);
  if (!reasons.empty()) return reasons;
  bool sound = true;
  for (uint32_t s = 0; s < g.num_seqs; ++s) {
    const auto [begin, end] = spans[s];
    sound &= slow_sequence(g, b, s, end - begin, &reasons);
    for (uint32_t row = begin; row < end; ++row) slow_row(g, b, s, row, &reasons);
  }
  if (sound) slow_slots(g, b, spans, &reasons);
  return reasons;
}

}  // namespace tdl::test
