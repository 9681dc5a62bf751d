// attention: softmax(scale q.K) V over paged KV.  A row's visible KV is cut at multiples of kAttentionChunk from index 0; each chunk
// is reduced to a partial (m = largest score, l = sum of exp(score - m), acc = sum of exp(score - m) v), and the partials are
// folded in chunk order.  Whether a chunk is an item of its own (long rows, few of them) or one after the other, and how many rows and
// heads go through the KV together, is only a matter of who does it: the arithmetic, and so every bit, is the same.
#include <cstring>

#include "kernels/host/table.h"

namespace tdl::host {
namespace {

constexpr uint32_t kMostRuns = kAttentionChunk;  // even of blocks of one position

// KV positions [begin, end) of sequence `seq`; empty when the row reads nothing.
struct Visible {
  uint32_t seq, begin, end;
  uint32_t first_chunk() const { return begin / kAttentionChunk; }
  uint32_t end_chunk() const { return (end + kAttentionChunk - 1) / kAttentionChunk; }
  bool empty() const { return begin == end; }
  // What lies in a chunk; maybe nothing.
  Visible within(uint32_t chunk) const {
    const uint32_t first = std::max(begin, chunk * kAttentionChunk), last = std::min(end, (chunk + 1) * kAttentionChunk);
    return {seq, first, std::max(first, last)};
  }
};

Visible visible_to(const AttentionArgs& args, uint32_t row) {
  const PassHeader& header = *at(args.header);
  uint32_t seq = 0, first = 0, rows = header.num_rows;  // of the row's sequence
  if (args.rows_per_seq > 0) {
    rows = args.rows_per_seq;
    seq = row / rows;
    first = seq * rows;
  } else if (const uint32_t* start = at(args.meta.query_start)) {
    seq = static_cast<uint32_t>(std::upper_bound(start, start + header.num_seqs, row) - start) - 1;
    first = start[seq];
    rows = start[seq + 1] - first;
  }
  const int64_t length = at(args.meta.seq_len)[seq];
  const int64_t end = length - rows + (row - first) + 1;
  if (end <= 0) return {seq, 0, 0};  // length 0, whatever the row
  const int64_t begin = args.window > 0 && end > args.window ? end - args.window : 0;
  return {seq, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

// One KV head of one sequence.
struct KvHead {
  const float* cache;
  const int32_t* table;  // the sequence's blocks
  uint32_t kv_heads, head, block_size, head_dim;

  // The runs of positions [begin, end), at most a chunk, that lie together; gives how many.
  uint32_t runs(uint32_t begin, uint32_t end, KvRun* to /* [kMostRuns] */) const {
    uint32_t count = 0;
    for (uint32_t position = begin; position < end; position += to[count++].count) {
      const uint32_t offset = position % block_size;
      const uint64_t block = static_cast<uint64_t>(table[position / block_size]);
      const float* keys = cache + (block * kv_heads + head) * 2 * block_size * head_dim + uint64_t{offset} * head_dim;
      to[count] = {keys, keys + uint64_t{block_size} * head_dim, position - begin, std::min(block_size - offset, end - position)};
    }
    return count;
  }
};

KvHead kv_head(const AttentionArgs& args, uint32_t seq, uint32_t head) {
  const int32_t* table = at(args.meta.block_table) + uint64_t{seq} * at(args.header)->table_stride;
  return {static_cast<const float*>(at(args.kv.data)), table, args.shape.kv_heads, head, args.shape.block_size, args.shape.head_dim};
}

struct Heads {
  uint32_t per_kv, n, row_elements;
  explicit Heads(const AttentionShape& shape)
      : per_kv(shape.heads / shape.kv_heads), n(shape.head_dim), row_elements((shape.heads + 2 * shape.kv_heads) * shape.head_dim) {}
};

float* out_of(const AttentionArgs& args, uint32_t row, uint32_t head) {
  return operand(args.out) + (uint64_t{row} * args.shape.heads + head) * args.shape.head_dim;
}

// Rows of one sequence by q heads of one KV head, taken through the KV together.
class Tile {
 public:
  Tile(const InnerLoops& loops, const KvHead& kv, float scale) : loops_(loops), kv_(kv), scale_(scale) {}

  // A query that sees `seen`, which lies in the chunk that starts at `chunk_begin`.
  void add(const float* q, Visible seen, uint32_t chunk_begin, float* partial) {
    if (count_ == 0) begin_ = seen.begin, end_ = seen.end;
    begin_ = std::min(begin_, seen.begin);
    end_ = std::max(end_, seen.end);
    chunk_begin_ = chunk_begin;
    queries_[count_++] = {q, partial, seen.begin - chunk_begin, seen.end - chunk_begin};
  }
  void reduce() {
    KvRun runs[kMostRuns];
    float scores[kMostQueries * kAttentionChunk];
    const uint32_t num_runs = kv_.runs(begin_, end_, runs);
    for (uint32_t i = 0; i < num_runs; ++i) runs[i].first += begin_ - chunk_begin_;
    loops_.attend({queries_, runs, scores, scale_, count_, num_runs, kv_.head_dim});
    count_ = 0;
  }

 private:
  const InnerLoops& loops_;
  const KvHead& kv_;
  float scale_;
  uint32_t count_ = 0, begin_ = 0, end_ = 0, chunk_begin_ = 0;
  AttendQuery queries_[kMostQueries];
};

// Heads [head, head + heads) of rows [row, row + rows) of one sequence, chunk after chunk; rows x heads <= kMostQueries.
void attend_tile(const InnerLoops& loops, const AttentionArgs& args, uint32_t row, uint32_t rows, uint32_t kv_head_index, uint32_t head, uint32_t heads) {
  const Heads shape(args.shape);
  const uint32_t size = shape.n + 2;
  Visible visible[kMostQueries];
  uint32_t begin = UINT32_MAX, end = 0;  // chunks
  for (uint32_t r = 0; r < rows; ++r) {
    visible[r] = visible_to(args, row + r);
    if (visible[r].empty()) {
      std::memset(out_of(args, row + r, head), 0, heads * shape.n * sizeof(float));
      continue;
    }
    begin = std::min(begin, visible[r].first_chunk());
    end = std::max(end, visible[r].end_chunk());
  }
  if (begin >= end) return;
  const KvHead kv = kv_head(args, visible[0].seq, kv_head_index);
  float sum[kMostQueries * (kMostHeadDim + 2)], next[kMostQueries * (kMostHeadDim + 2)];
  Tile tile(loops, kv, args.scale);
  for (uint32_t chunk = begin; chunk < end; ++chunk) {
    for (uint32_t r = 0; r < rows; ++r) {
      const Visible seen = visible[r].within(chunk);
      if (seen.empty()) continue;
      float* partials = (chunk == visible[r].first_chunk() ? sum : next) + r * heads * size;
      const float* q = at(args.qkv) + uint64_t{row + r} * shape.row_elements + head * shape.n;
      for (uint32_t h = 0; h < heads; ++h) tile.add(q + h * shape.n, seen, chunk * kAttentionChunk, partials + h * size);
    }
    tile.reduce();
    for (uint32_t r = 0; r < rows; ++r) {
      if (chunk == visible[r].first_chunk() || visible[r].within(chunk).empty()) continue;
      for (uint32_t i = r * heads; i < (r + 1) * heads; ++i) loops.fold_partial(sum + i * size, next + i * size, shape.n);
    }
  }
  for (uint32_t r = 0; r < rows; ++r) {
    if (visible[r].empty()) continue;
    for (uint32_t h = 0; h < heads; ++h) loops.finish(sum + (r * heads + h) * size, shape.n, out_of(args, row + r, head + h));
  }
}

// How many rows and heads a tile takes.
struct TileShape {
  uint32_t rows, heads;
  TileShape(const AttentionArgs& args, uint32_t live, uint32_t threads) {
    heads = std::min(args.shape.heads / args.shape.kv_heads, kMostQueries);
    rows = args.rows_per_seq > 0 ? std::min(args.rows_per_seq, kMostQueries / heads) : kMostQueries / heads;
    // Long rows are few: rather less for each thread than threads with nothing.
    while (rows > 1 && uint64_t{live / rows} * args.shape.kv_heads < 4u * threads) rows /= 2;
  }
};

// Rows [row, row + rows), of one sequence or several, for one KV head.
void attend_rows(const InnerLoops& loops, const AttentionArgs& args, TileShape tile, uint32_t row, uint32_t rows, uint32_t kv_head_index) {
  const uint32_t per_kv = args.shape.heads / args.shape.kv_heads;
  for (uint32_t end = row + rows; row < end;) {
    uint32_t count = 1;
    for (const uint32_t seq = visible_to(args, row).seq; row + count < end && visible_to(args, row + count).seq == seq;) ++count;
    for (uint32_t done = 0; done < per_kv; done += tile.heads)
      attend_tile(loops, args, row, count, kv_head_index, kv_head_index * per_kv + done, std::min(tile.heads, per_kv - done));
    row += count;
  }
}

float* partial_of(const AttentionArgs& args, uint32_t chunk, uint32_t head) {
  return at(args.partials) + (uint64_t{chunk} * args.shape.heads + head) * (args.shape.head_dim + 2);
}

// Chunk `index` of the pass, which is a chunk of one of its rows.
void reduce_chunk(const InnerLoops& loops, const AttentionArgs& args, uint32_t rows, uint32_t index, uint32_t kv_head_index) {
  const Heads shape(args.shape);
  const uint32_t* start = at(args.chunk_start);
  const uint32_t row = static_cast<uint32_t>(std::upper_bound(start, start + rows, index) - start) - 1;
  const uint32_t chunk = index - start[row];
  const Visible seen = visible_to(args, row).within(chunk);
  if (seen.empty()) return;  // before the window
  const KvHead kv = kv_head(args, seen.seq, kv_head_index);
  Tile tile(loops, kv, args.scale);
  for (uint32_t done = 0; done < shape.per_kv; done += kMostQueries) {
    const uint32_t head = kv_head_index * shape.per_kv + done, heads = std::min(kMostQueries, shape.per_kv - done);
    const float* q = at(args.qkv) + uint64_t{row} * shape.row_elements + head * shape.n;
    for (uint32_t h = 0; h < heads; ++h) tile.add(q + h * shape.n, seen, chunk * kAttentionChunk, partial_of(args, index, head + h));
    tile.reduce();
  }
}

void fold_row(const InnerLoops& loops, const AttentionArgs& args, uint32_t row, uint32_t head) {
  const uint32_t n = args.shape.head_dim;
  const Visible visible = visible_to(args, row);
  float* out = out_of(args, row, head);
  if (visible.empty()) {
    std::memset(out, 0, n * sizeof(float));
    return;
  }
  const uint32_t start = at(args.chunk_start)[row];
  float sum[kMostHeadDim + 2];
  std::memcpy(sum, partial_of(args, start + visible.first_chunk(), head), (n + 2) * sizeof(float));
  for (uint32_t chunk = visible.first_chunk() + 1; chunk < visible.end_chunk(); ++chunk)
    loops.fold_partial(sum, partial_of(args, start + chunk, head), n);
  loops.finish(sum, n, out);
}

}  // namespace

void attention(const AttentionArgs& args, Pool& pool) {
  const PassHeader& header = *at(args.header);
  const uint32_t rows = live_rows(args.header, args.rows), kv_heads = args.shape.kv_heads;
  // Whole rows keep the threads busy once there are several for each; a pass with only one chunk a row has nothing to split.
  const bool few = uint64_t{rows} * kv_heads < 4u * pool.threads() && pool.threads() > 1;
  if (few && header.num_chunks > rows && header.num_chunks <= args.max_chunks) {
    pool.for_each(header.num_chunks * kv_heads,
                  [&](uint32_t item) { reduce_chunk(pool.loops(), args, rows, item / kv_heads, item % kv_heads); });
    pool.for_each(rows * args.shape.heads, [&](uint32_t item) { fold_row(pool.loops(), args, item / args.shape.heads, item % args.shape.heads); });
    return;
  }
  // Neighbouring items share a KV head, and so its cached blocks.
  const TileShape tile(args, rows, pool.threads());
  const uint32_t tiles = (rows + tile.rows - 1) / tile.rows;
  pool.for_each(tiles * kv_heads, [&](uint32_t item) {
    const uint32_t row = item % tiles * tile.rows;
    attend_rows(pool.loops(), args, tile, row, std::min(tile.rows, rows - row), item / tiles);
  });
}

}  // namespace tdl::host
