// The inner loops of the host device, one set per instruction set.  Every set is compiled from the same text (inner_loops.h) with flags
// of its own and chosen when a device is made, so that one binary runs on every machine of its architecture.
#pragma once
#include <cstdint>

#include "kernels/core/dtype.h"

namespace tdl::host {

// A block of a product with a stored weight matrix: kBlockOuts weight rows by kBlockRows activation rows at most.
inline constexpr uint32_t kBlockOuts = 128, kBlockRows = 96;
// Up to so many rows a product reads its weights from memory as they are needed; more rows are packed first.
inline constexpr uint32_t kFewRows = 8;

struct BlockProduct {
  const void* weight;     // [outs, in] as stored
  const float* const* x;  // [rows] of [in]
  float* sums;            // out [rows, kBlockOuts]: sums[r][i] = x[r] . weight[i]
  DType dtype;
  uint32_t in, outs, rows;
};

// Keys and values of positions that lie together: [count, head_dim] each.
struct KvRun {
  const float* keys;
  const float* values;
  uint32_t first, count;  // first: index among the positions of the chunk
};

// One head of one row, and the positions of the chunk that it sees: begin < end <= kAttentionChunk.
struct AttendQuery {
  const float* q;  // [n]
  float* partial;  // out [n + 2]: m, l, acc; m the largest score, l the sum of exp(score - m), acc that of exp(score - m) v
  uint32_t begin, end;
};

// Attention of a tile of queries over one chunk of KV; the runs, in order, cover what any of them sees.
inline constexpr uint32_t kMostQueries = 16;
struct Attend {
  const AttendQuery* queries;
  const KvRun* runs;
  float* scores;  // workspace [num_queries, kAttentionChunk]
  float scale;
  uint32_t num_queries, num_runs, n;  // n: head_dim
};

// Within one set, the bits of a dot product depend on its two vectors alone: on one order of lanes and one final tree, however many
// rows and columns are computed beside it.
struct InnerLoops {
  const char* name;  // "avx512"; static

  void (*block_product)(const BlockProduct& block);
  // out[i] = a[i] in f32, for an a of any stored type.
  void (*widen)(const void* a, DType dtype, uint32_t n, float* out);
  // out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; `out` may be `x`.
  void (*rms_norm)(const float* x, const float* weight, uint32_t n, float eps, float* out);
  // out[i] = SiLU(gate[i]) * up[i].
  void (*silu_mul)(const float* gate, const float* up, uint32_t n, float* out);

  void (*attend)(const Attend& tile);
  // into := the partial over the positions of both; then out[i] = acc[i] / l.
  void (*fold_partial)(float* into, const float* next, uint32_t n);
  void (*finish)(const float* partial, uint32_t n, float* out);
};

// The best set that this processor and its operating system can run.
const InnerLoops& best_inner_loops();
// Every set that was compiled and can run here, the plain one first; gives how many.
inline constexpr uint32_t kMostSets = 4;
uint32_t all_inner_loops(const InnerLoops** loops /* [kMostSets] */);

// The sets themselves; each is defined in the file of its name and must be called only where it can run.
extern const InnerLoops kBaselineLoops, kSse4Loops, kAvx2Loops, kAvx512Loops, kNeonLoops;

}  // namespace tdl::host
