// attention: softmax(scale q.K) V over paged KV.  A row's visible KV is cut at multiples of kAttentionChunk from index 0; each chunk
// is reduced to a partial (m = largest score, l = sum of exp(score - m), acc = sum of exp(score - m) v), and the partials are
// folded in chunk order.  Whether a chunk is an item of its own (long rows, few of them) or one after the other is only a matter of
// who does it: the arithmetic, and so every bit, is the same.
#include <cstring>

#include "kernels/host/table.h"

namespace tdl::host {
namespace {

constexpr uint32_t kMostRuns = kAttentionChunk;  // even of blocks of one position
constexpr uint32_t kHeadTile = 8;  // q heads of one KV head that are taken through the KV together

// KV positions [begin, end) of sequence `seq`; empty when the row reads nothing.
struct Visible {
  uint32_t seq, begin, end;
  uint32_t first_chunk() const { return begin / kAttentionChunk; }
  uint32_t end_chunk() const { return (end + kAttentionChunk - 1) / kAttentionChunk; }
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

// The partials of `heads` <= kHeadTile heads over KV positions [begin, end), which lie in one chunk.
void reduce(const InnerLoops& loops, const KvHead& kv, const float* q /* [heads, head_dim] */, uint32_t heads, uint32_t begin, uint32_t end, float scale,
            float* partials /* [heads, head_dim + 2] */) {
  KvRun runs[kMostRuns];
  float scores[kHeadTile * kAttentionChunk];
  loops.attend(q, heads, kv.head_dim, runs, kv.runs(begin, end, runs), scale, scores, partials);
}

struct Heads {
  uint32_t per_kv, n, row_elements;
  explicit Heads(const AttentionShape& shape)
      : per_kv(shape.heads / shape.kv_heads), n(shape.head_dim), row_elements((shape.heads + 2 * shape.kv_heads) * shape.head_dim) {}
};

float* out_of(const AttentionArgs& args, uint32_t row, uint32_t head) {
  return operand(args.out) + (uint64_t{row} * args.shape.heads + head) * args.shape.head_dim;
}

// The chunks of a row one after the other.
void attend_row(const InnerLoops& loops, const AttentionArgs& args, uint32_t row, uint32_t kv_head_index) {
  const Heads shape(args.shape);
  const Visible visible = visible_to(args, row);
  const uint32_t first_head = kv_head_index * shape.per_kv;
  if (visible.begin == visible.end) {
    std::memset(out_of(args, row, first_head), 0, shape.per_kv * shape.n * sizeof(float));
    return;
  }
  const KvHead kv = kv_head(args, visible.seq, kv_head_index);
  float sum[kHeadTile * (kMostHeadDim + 2)], next[kHeadTile * (kMostHeadDim + 2)];
  for (uint32_t done = 0; done < shape.per_kv; done += kHeadTile) {
    const uint32_t head = first_head + done, heads = std::min(kHeadTile, shape.per_kv - done);
    const float* q = at(args.qkv) + uint64_t{row} * shape.row_elements + head * shape.n;
    for (uint32_t chunk = visible.first_chunk(); chunk < visible.end_chunk(); ++chunk) {
      const uint32_t begin = std::max(visible.begin, chunk * kAttentionChunk);
      const uint32_t end = std::min(visible.end, (chunk + 1) * kAttentionChunk);
      const bool first = chunk == visible.first_chunk();
      reduce(loops, kv, q, heads, begin, end, args.scale, first ? sum : next);
      for (uint32_t h = 0; h < heads && !first; ++h) loops.fold(sum + h * (shape.n + 2), next + h * (shape.n + 2), shape.n);
    }
    for (uint32_t h = 0; h < heads; ++h) loops.finish(sum + h * (shape.n + 2), shape.n, out_of(args, row, head + h));
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
  const Visible visible = visible_to(args, row);
  const uint32_t chunk = index - start[row];
  if (chunk < visible.first_chunk() || chunk >= visible.end_chunk()) return;  // before the window
  const uint32_t begin = std::max(visible.begin, chunk * kAttentionChunk);
  const uint32_t end = std::min(visible.end, (chunk + 1) * kAttentionChunk);
  const KvHead kv = kv_head(args, visible.seq, kv_head_index);
  for (uint32_t done = 0; done < shape.per_kv; done += kHeadTile) {
    const uint32_t head = kv_head_index * shape.per_kv + done;
    const float* q = at(args.qkv) + uint64_t{row} * shape.row_elements + head * shape.n;
    reduce(loops, kv, q, std::min(kHeadTile, shape.per_kv - done), begin, end, args.scale, partial_of(args, index, head));
  }
}

void fold_row(const InnerLoops& loops, const AttentionArgs& args, uint32_t row, uint32_t head) {
  const uint32_t n = args.shape.head_dim;
  const Visible visible = visible_to(args, row);
  float* out = out_of(args, row, head);
  if (visible.begin == visible.end) {
    std::memset(out, 0, n * sizeof(float));
    return;
  }
  const uint32_t start = at(args.chunk_start)[row];
  float sum[kMostHeadDim + 2];
  std::memcpy(sum, partial_of(args, start + visible.first_chunk(), head), (n + 2) * sizeof(float));
  for (uint32_t chunk = visible.first_chunk() + 1; chunk < visible.end_chunk(); ++chunk)
    loops.fold(sum, partial_of(args, start + chunk, head), n);
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
  pool.for_each(rows * kv_heads, [&](uint32_t item) { attend_row(pool.loops(), args, item % rows, item / rows); });
}

}  // namespace tdl::host
