// The inner loops of attention: one chunk of KV positions for a tile of queries, which take every key and value through the registers together.
#pragma once
#include "kernels/host/isa/product_loops.h"
#include "kernels/step_args.h"
// After highway.h, which it needs.
#include <hwy/contrib/math/math-inl.h>

namespace tdl::host {
namespace {

// f(first position, its key, its value, count) for each run's part of positions [begin, end).
template <class F>
HWY_INLINE void for_runs(const Attend& a, uint32_t begin, uint32_t end, const F& f) {
  for (uint32_t i = 0; i < a.num_runs; ++i) {
    const KvRun& run = a.runs[i];
    const uint32_t from = run.first > begin ? run.first : begin, to = at_most(run.first + run.count, end);
    if (from >= to) continue;
    const uint64_t skipped = uint64_t{from - run.first} * a.n;
    f(from, run.keys + skipped, run.values + skipped, to - from);
  }
}

// scores[query][p] = q . key p, for positions [begin, end) of the chunk.
HWY_INLINE void score(const Attend& a, uint32_t query, uint32_t queries, uint32_t begin, uint32_t end) {
  const float* q[kMostQueries];
  for (uint32_t i = 0; i < queries; ++i) q[i] = a.queries[query + i].q;
  for_runs(a, begin, end, [&](uint32_t first, const float* keys, const float*, uint32_t count) {
    float* to = a.scores + query * kAttentionChunk + first;
    uint32_t p = 0;
    for (; p + kTileOuts <= count; p += kTileOuts)
      tiles_of_rows<kTileOuts>(Strided<float>{keys + uint64_t{p} * a.n, a.n}, q, 0, queries, a.n, true, to + p, kAttentionChunk);
    for (; p < count; ++p) tiles_of_rows<1>(Strided<float>{keys + uint64_t{p} * a.n, a.n}, q, 0, queries, a.n, true, to + p, kAttentionChunk);
  });
}

// scores := exp(scale score - m), m the largest; gives m and the sum.
HWY_INLINE void soften(float* scores, uint32_t length, float scale, float* largest, float* sum) {
  const V by = hn::Set(d, scale);
  float m = scores[0] * scale;
  for_vectors(length, [&](uint32_t i, uint32_t count) { store_some(hn::Mul(load_some(scores + i, count), by), scores + i, count); });
  for (uint32_t i = 1; i < length; ++i) m = scores[i] > m ? scores[i] : m;
  const V top = hn::Set(d, m);
  V total = hn::Zero(d);
  for_vectors(length, [&](uint32_t i, uint32_t count) {
    const V shifted = hn::Sub(load_some(scores + i, count), top);
    V e = hn::IfThenElse(hn::IsNaN(shifted), shifted, hn::Exp(d, shifted));
    if (count < kLanes) e = hn::IfThenElseZero(hn::FirstN(d, count), e);
    store_some(e, scores + i, count);
    total = hn::Add(total, e);
  });
  *largest = m;
  *sum = sum_of(total);
}

constexpr uint32_t kValueQueries = kManyRegisters ? 4 : 2, kValueVectors = 4;

// acc of kQ queries += sum over positions of weight[p] * values[p], positions in order.
template <uint32_t kQ>
HWY_INLINE void add_values(const float* values, const float* weight, uint32_t count, uint32_t n, float* const* acc) {
  uint32_t i = 0;
  for (; i + kValueVectors * kLanes <= n; i += kValueVectors * kLanes) {
    V sum[kQ][kValueVectors];
    for (uint32_t q = 0; q < kQ; ++q)
      for (uint32_t k = 0; k < kValueVectors; ++k) sum[q][k] = load(acc[q] + i + k * kLanes);
    for (uint32_t p = 0; p < count; ++p) {
      V value[kValueVectors];
      for (uint32_t k = 0; k < kValueVectors; ++k) value[k] = load(values + uint64_t{p} * n + i + k * kLanes);
      for (uint32_t q = 0; q < kQ; ++q) {
        const V w = hn::Set(d, weight[q * kAttentionChunk + p]);
        for (uint32_t k = 0; k < kValueVectors; ++k) sum[q][k] = hn::MulAdd(w, value[k], sum[q][k]);
      }
    }
    for (uint32_t q = 0; q < kQ; ++q)
      for (uint32_t k = 0; k < kValueVectors; ++k) hn::StoreU(sum[q][k], d, acc[q] + i + k * kLanes);
  }
  for (; i < n; i += kLanes) {
    const uint32_t some = at_most(kLanes, n - i);
    for (uint32_t q = 0; q < kQ; ++q) {
      V sum = load_some(acc[q] + i, some);
      for (uint32_t p = 0; p < count; ++p)
        sum = hn::MulAdd(hn::Set(d, weight[q * kAttentionChunk + p]), load_some(values + uint64_t{p} * n + i, some), sum);
      store_some(sum, acc[q] + i, some);
    }
  }
}

HWY_INLINE void gather(const Attend& a, uint32_t query, uint32_t queries, uint32_t begin, uint32_t end) {
  for_runs(a, begin, end, [&](uint32_t first, const float*, const float* values, uint32_t count) {
    for (uint32_t done = 0; done < queries; done += kValueQueries) {
      const uint32_t q = query + done;
      with_count<kValueQueries>(at_most(kValueQueries, queries - done), [&](auto some) {
        float* acc[some.value];
        for (uint32_t k = 0; k < some.value; ++k) acc[k] = a.queries[q + k].partial + 2;
        add_values<some.value>(values, a.scores + q * kAttentionChunk + first, count, a.n, acc);
      });
    }
  });
}

// Positions that all queries see are taken together; those before and behind them, query by query.  Each query meets its own in order.
void attend(const Attend& a) {
  uint32_t begin = 0, end = kAttentionChunk;
  for (uint32_t i = 0; i < a.num_queries; ++i) {
    if (a.queries[i].begin > begin) begin = a.queries[i].begin;
    end = at_most(end, a.queries[i].end);
  }
  if (begin > end) begin = end;
  const auto below = [&](const AttendQuery& query) { return at_most(query.end, begin); };
  const auto above = [&](const AttendQuery& query) { return query.begin > end ? query.begin : end; };
  score(a, 0, a.num_queries, begin, end);
  for (uint32_t i = 0; i < a.num_queries; ++i) {
    const AttendQuery& query = a.queries[i];
    score(a, i, 1, query.begin, below(query));
    score(a, i, 1, above(query), query.end);
    soften(a.scores + i * kAttentionChunk + query.begin, query.end - query.begin, a.scale, query.partial, query.partial + 1);
    for (uint32_t k = 0; k < a.n; ++k) query.partial[2 + k] = 0;
    gather(a, i, 1, query.begin, below(query));
  }
  gather(a, 0, a.num_queries, begin, end);
  for (uint32_t i = 0; i < a.num_queries; ++i) gather(a, i, 1, above(a.queries[i]), a.queries[i].end);
}

HWY_INLINE float exp_of(float x) { return x != x ? x : hn::GetLane(hn::Exp(d, hn::Set(d, x))); }

void fold_partial(float* into, const float* next, uint32_t n) {
  const float m = next[0] > into[0] ? next[0] : into[0];
  const float keep = exp_of(into[0] - m), add = exp_of(next[0] - m);
  into[0] = m;
  into[1] = into[1] * keep + next[1] * add;
  const V k = hn::Set(d, keep), a = hn::Set(d, add);
  for_vectors(n, [&](uint32_t i, uint32_t count) {
    store_some(hn::MulAdd(load_some(next + 2 + i, count), a, hn::Mul(load_some(into + 2 + i, count), k)), into + 2 + i, count);
  });
}

void finish(const float* partial, uint32_t n, float* out) {
  const V scale = hn::Set(d, 1.0f / partial[1]);
  for_vectors(n, [&](uint32_t i, uint32_t count) { store_some(hn::Mul(load_some(partial + 2 + i, count), scale), out + i, count); });
}

}  // namespace
}  // namespace tdl::host
