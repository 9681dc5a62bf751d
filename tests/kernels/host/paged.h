// A pass's metadata over paged KV, and a cache filled with known keys and values, for the tests of rope_kv and attention.
#pragma once
#include "tests/kernels/host/rig.h"

namespace tdl::test {

// A sequence in a pass: its length afterwards, and its rows in it.  length 0: it sits out.
struct Seq {
  uint32_t length, rows;
};

struct Paged {
  std::vector<Seq> seqs;
  AttentionShape shape;
  uint32_t live = 0, rows = 0;  // without and with padding
  uint32_t rows_per_seq;        // 0: prefill
  Array<PassHeader> header;
  Array<uint32_t> positions, seq_len, query_start, chunk_start;
  Array<int64_t> slot;
  Array<int32_t> table;
  uint32_t num_blocks;
  Array<float> cache;  // poison wherever no sequence has a position

  Paged(std::vector<Seq> sequences, AttentionShape shape, uint32_t rows_per_seq, uint32_t padding, uint32_t seed = 1)
      : seqs(std::move(sequences)), shape(shape), rows_per_seq(rows_per_seq) {
    Random random(seed);
    std::vector<uint32_t> lengths, starts{0}, chunks{0}, position;
    std::vector<int64_t> slots;
    uint32_t stride = 3, blocks = 0;  // wider than any sequence needs
    for (const Seq& seq : seqs) {
      stride = std::max(stride, blocks_of(seq) + 2);
      blocks += blocks_of(seq);
    }
    num_blocks = blocks + 3;
    std::vector<int32_t> order(num_blocks);
    for (uint32_t i = 0; i < num_blocks; ++i) order[i] = static_cast<int32_t>(i);
    for (uint32_t i = num_blocks - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    table = Array<int32_t>(size_t{stride} * seqs.size());  // poison past a sequence's blocks
    for (size_t s = 0, next = 0; s < seqs.size(); ++s) {
      for (uint32_t b = 0; b < blocks_of(seqs[s]); ++b) table[s * stride + b] = order[next++];
      lengths.push_back(seqs[s].length);
      for (uint32_t i = 0; i < seqs[s].rows; ++i) {
        const uint32_t index = seqs[s].length ? seqs[s].length - seqs[s].rows + i : 0;
        const int64_t block = seqs[s].length ? table[s * stride + index / shape.block_size] : 0;
        slots.push_back(seqs[s].length ? block * shape.block_size + index % shape.block_size : -1);
        position.push_back(index);
        chunks.push_back(chunks.back() + (seqs[s].length ? (index + kAttentionChunk) / kAttentionChunk : 0));
      }
      starts.push_back(starts.back() + seqs[s].rows);
    }
    live = starts.back();
    rows = live + padding;
    header = header_of(live);
    header[0].num_seqs = static_cast<uint32_t>(seqs.size());
    header[0].table_stride = stride;
    header[0].num_chunks = chunks.back();
    for (uint32_t i = 0; i < padding; ++i) {
      slots.push_back(-1);
      position.push_back(0);
      chunks.push_back(chunks.back());
      if (rows_per_seq) lengths.push_back(0);
    }
    seq_len = Array<uint32_t>(lengths);
    query_start = Array<uint32_t>(starts);
    chunk_start = Array<uint32_t>(chunks);
    positions = Array<uint32_t>(position);
    slot = Array<int64_t>(slots);
    cache = Array<float>(size_t{num_blocks} * shape.kv_heads * 2 * shape.block_size * shape.head_dim);
  }

  AttnMetadata meta() const {
    AttnMetadata meta = {};
    meta.positions = meta.positions_h = meta.positions_w = positions.view();
    meta.slot = slot.view();
    meta.seq_len = seq_len.view();
    meta.block_table = table.view();
    if (rows_per_seq == 0 && seqs.size() > 1) meta.query_start = query_start.view();
    meta.max_blocks_per_seq = 0xDEAD;  // no stage may read it: the stride is in the header
    meta.num_seqs = static_cast<uint32_t>(seq_len.size());
    return meta;
  }
  KvLayer layer() { return {{cache.ptr().address}, DType::f32}; }

  uint32_t blocks_of(const Seq& seq) const { return (seq.length + shape.block_size - 1) / shape.block_size; }

  // Where element 0 of a key (part 0) or value (part 1) is in the cache; the layout that stages.h gives.
  size_t offset(int64_t slot_index, uint32_t kv_head, uint32_t part) const {
    const size_t block = static_cast<size_t>(slot_index) / shape.block_size, position = static_cast<size_t>(slot_index) % shape.block_size;
    return (((block * shape.kv_heads + kv_head) * 2 + part) * shape.block_size + position) * shape.head_dim;
  }
  size_t offset(uint32_t seq, uint32_t position, uint32_t kv_head, uint32_t part) const {
    const int64_t block = table[size_t{seq} * header[0].table_stride + position / shape.block_size];
    return offset(block * shape.block_size + position % shape.block_size, kv_head, part);
  }
  // Every position of every sequence; what a position holds depends on (seed of the sequence, position) alone.
  void fill(const std::vector<uint32_t>& seeds) {
    for (uint32_t s = 0; s < seqs.size(); ++s) {
      Random random(seeds[s]);
      for (uint32_t position = 0; position < seqs[s].length; ++position)
        for (uint32_t h = 0; h < shape.kv_heads; ++h)
          for (uint32_t part = 0; part < 2; ++part)
            for (uint32_t i = 0; i < shape.head_dim; ++i)
              cache[offset(s, position, h, part) + i] = random.uniform(part ? -1.0f : -2.0f, part ? 1.0f : 2.0f);
    }
  }
};

}  // namespace tdl::test
