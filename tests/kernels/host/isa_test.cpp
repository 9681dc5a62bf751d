// The inner loops of every instruction set that this machine can run, against double precision.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/host/isa/inner.h"
#include "kernels/step_args.h"

namespace {

using namespace tdl;
using namespace tdl::host;

struct Sets {
  const InnerLoops* sets[kMostSets];
  uint32_t count = all_inner_loops(sets);
  const InnerLoops* const* begin() const { return sets; }
  const InnerLoops* const* end() const { return sets + count; }
};

std::vector<float> numbers(std::mt19937& random, size_t count) {
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 512.0f;
  return out;
}

// A number of 8 significant bits at most, so that every stored type holds it exactly.
uint16_t stored(float value, DType type) {
  if (type == DType::bf16) return f32_to_bf16(value);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    if (f16_to_f32(static_cast<uint16_t>(bits)) == value) return static_cast<uint16_t>(bits);
  }
  return 0;
}

struct Weight {
  DType type;
  std::vector<float> value;     // [outs, in]
  std::vector<uint16_t> half;

  Weight(std::mt19937& random, DType t, uint32_t outs, uint32_t in) : type(t) {
    std::vector<uint16_t> table(256);
    for (uint32_t i = 0; i < 256; ++i) table[i] = stored((static_cast<float>(i) - 128.0f) / 64.0f, t);
    for (uint32_t i = 0; i < outs * in; ++i) {
      const uint32_t pick = random() % 256;
      value.push_back((static_cast<float>(pick) - 128.0f) / 64.0f);
      half.push_back(table[pick]);
    }
  }
  const void* data() const { return type == DType::f32 ? static_cast<const void*>(value.data()) : half.data(); }
};

}  // namespace

TEST_CASE("every set computes products of odd sizes in every stored type, and the same bits beside any other rows") {
  std::mt19937 random(5);
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    for (const uint32_t in : {1u, 15u, 64u, 250u, 511u, 513u, 1024u, 2601u}) {
      CAPTURE(name_of(type));
      CAPTURE(in);
      constexpr uint32_t kRows = 27;  // expected values: the rows after these repeat the first
      const Weight weight(random, type, kBlockOuts, in);
      const std::vector<float> x = numbers(random, size_t{kRows} * in);
      std::vector<const float*> pointers;
      for (uint32_t r = 0; r < kBlockRows; ++r) pointers.push_back(x.data() + size_t{r % kRows} * in);
      std::vector<double> expected(kRows * kBlockOuts), size(kRows * kBlockOuts);
      for (uint32_t r = 0; r < kRows; ++r) {
        for (uint32_t o = 0; o < kBlockOuts; ++o) {
          for (uint32_t i = 0; i < in; ++i) {
            const double product = static_cast<double>(weight.value[size_t{o} * in + i]) * x[size_t{r} * in + i];
            expected[r * kBlockOuts + o] += product;
            size[r * kBlockOuts + o] += std::abs(product);
          }
        }
      }
      for (const InnerLoops* loops : Sets()) {
        CAPTURE(loops->name);
        std::vector<float> first;
        for (const uint32_t rows : {kBlockRows, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 13u}) {
          for (const uint32_t outs : {kBlockOuts, 1u, 3u, 30u}) {
            if (rows == kBlockRows && outs != kBlockOuts) continue;
            std::vector<float> sums(kBlockRows * kBlockOuts, 777.0f);
            loops->block_product({weight.data(), pointers.data(), sums.data(), type, in, outs, rows});
            if (first.empty()) first = sums;
            uint32_t wrong = 0, differs = 0, touched = 0;
            for (uint32_t r = 0; r < kBlockRows; ++r) {
              for (uint32_t o = 0; o < kBlockOuts; ++o) {
                const float got = sums[r * kBlockOuts + o];
                if (r >= rows || o >= outs) {
                  touched += got != 777.0f;
                  continue;
                }
                const uint32_t same = r % kRows * kBlockOuts + o;
                wrong += !(std::abs(got - expected[same]) <= 1e-6 * size[same] + 1e-30);
                differs += std::memcmp(&got, &first[same], sizeof got) != 0;
              }
            }
            CHECK(wrong == 0);
            CHECK(differs == 0);
            CHECK(touched == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("every set widens every 16-bit number exactly, wherever it stands in a row") {
  for (const InnerLoops* loops : Sets()) {
    CAPTURE(loops->name);
    std::vector<uint16_t> all(65536);
    for (uint32_t bits = 0; bits < 65536; ++bits) all[bits] = static_cast<uint16_t>(bits);
    for (const DType type : {DType::bf16, DType::f16}) {
      for (const uint32_t start : {0u, 1u, 7u}) {
        std::vector<float> out(65536);
        loops->widen(all.data() + start, type, 65536 - start, out.data());
        uint32_t wrong = 0;
        for (uint32_t i = 0; i + start < 65536; ++i) {
          const float expected = type == DType::bf16 ? bf16_to_f32(all[i + start]) : f16_to_f32(all[i + start]);
          const bool both_nan = std::isnan(expected) && std::isnan(out[i]);
          wrong += !both_nan && std::memcmp(&out[i], &expected, sizeof expected) != 0;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("every set norms rows and multiplies by SiLU") {
  std::mt19937 random(9);
  for (const InnerLoops* loops : Sets()) {
    for (const uint32_t n : {1u, 5u, 64u, 80u, 129u}) {
      CAPTURE(loops->name);
      CAPTURE(n);
      const std::vector<float> x = numbers(random, n), w = numbers(random, n);
      std::vector<float> out(n);
      loops->rms_norm(x.data(), w.data(), n, 1e-6f, out.data());
      double squares = 0;
      for (const float value : x) squares += static_cast<double>(value) * value;
      for (uint32_t i = 0; i < n; ++i) CHECK(out[i] == doctest::Approx(x[i] / std::sqrt(squares / n + 1e-6) * w[i]).epsilon(1e-5));
      loops->silu_mul(x.data(), w.data(), n, out.data());
      for (uint32_t i = 0; i < n; ++i) CHECK(out[i] == doctest::Approx(x[i] / (1 + std::exp(-static_cast<double>(x[i]))) * w[i]).epsilon(1e-5));
    }
    const float gate[5] = {-200.0f, 200.0f, -0.0f, NAN, INFINITY}, up[5] = {2, 2, 2, 2, 2};
    float out[5];
    loops->silu_mul(gate, up, 5, out);
    CHECK(std::abs(out[0]) < 1e-30f);
    CHECK(out[1] == 400.0f);
    CHECK(out[2] == 0.0f);
    CHECK(std::isnan(out[3]));
    CHECK(out[4] == INFINITY);
  }
}

// What a query sees of two chunks that lie side by side, and its softmax in double precision.
struct Seen {
  uint32_t begin, end;
};

std::vector<double> softmax(const float* q, const std::vector<float>& keys, const std::vector<float>& values, uint32_t n, Seen seen, float scale) {
  double sum = 0;
  std::vector<double> expected(n);
  for (uint32_t p = seen.begin; p < seen.end; ++p) {
    double score = 0;
    for (uint32_t i = 0; i < n; ++i) score += static_cast<double>(q[i]) * keys[size_t{p} * n + i];
    const double e = std::exp(score * scale);
    sum += e;
    for (uint32_t i = 0; i < n; ++i) expected[i] += e * values[size_t{p} * n + i];
  }
  for (double& value : expected) value /= sum;
  return expected;
}

TEST_CASE("every set attends over runs of positions and folds chunks, with the same bits for a query alone and in a tile") {
  std::mt19937 random(2);
  constexpr float kScale = 0.125f;
  constexpr uint32_t kAll = 2 * kAttentionChunk;
  for (const InnerLoops* loops : Sets()) {
    for (const uint32_t n : {64u, 80u, 20u}) {
      const std::vector<float> q = numbers(random, kMostQueries * n), keys = numbers(random, kAll * n), values = numbers(random, kAll * n);
      std::vector<float> scores(kMostQueries * kAttentionChunk);
      // A tile's queries; the lists end at a causal edge, cross windows, and share nothing at all.
      for (const std::vector<Seen>& tile : std::vector<std::vector<Seen>>{{{0, 1}},
                                                                           {{0, 300}, {0, 300}, {0, 300}},
                                                                           {{0, 99}, {0, 100}, {0, 101}, {0, 102}, {0, 103}, {0, 104}, {0, 105}},
                                                                           {{3, 400}, {4, 401}, {5, 402}, {250, 258}},
                                                                           {{0, 10}, {200, 290}, {17, 30}},
                                                                           std::vector<Seen>(kMostQueries, Seen{0, kAll})}) {
        CAPTURE(loops->name);
        CAPTURE(n);
        CAPTURE(tile.size());
        // Runs of 13 positions, all that lie in the chunk.
        const auto attend = [&](uint32_t chunk, const std::vector<AttendQuery>& queries) {
          std::vector<KvRun> runs;
          for (uint32_t p = 0; p < kAttentionChunk; p += 13) {
            const size_t at = (size_t{chunk} * kAttentionChunk + p) * n;
            runs.push_back({keys.data() + at, values.data() + at, p, std::min(13u, kAttentionChunk - p)});
          }
          loops->attend({queries.data(), runs.data(), scores.data(), kScale, static_cast<uint32_t>(queries.size()), static_cast<uint32_t>(runs.size()), n});
        };
        const uint32_t size = n + 2;
        std::vector<float> together(2 * kMostQueries * size), alone(2 * kMostQueries * size), out(n);
        for (uint32_t chunk = 0; chunk < 2; ++chunk) {
          std::vector<AttendQuery> queries;
          for (uint32_t i = 0; i < tile.size(); ++i) {
            const uint32_t first = chunk * kAttentionChunk, begin = std::max(tile[i].begin, first), end = std::min(tile[i].end, first + kAttentionChunk);
            if (begin >= end) continue;
            const size_t at = (size_t{chunk} * kMostQueries + i) * size;
            queries.push_back({q.data() + size_t{i} * n, together.data() + at, begin - first, end - first});
            AttendQuery lone = queries.back();
            lone.partial = alone.data() + at;
            attend(chunk, {lone});
          }
          if (!queries.empty()) attend(chunk, queries);
        }
        CHECK(std::memcmp(together.data(), alone.data(), together.size() * sizeof(float)) == 0);
        for (uint32_t i = 0; i < tile.size(); ++i) {
          float *low = together.data() + i * size, *high = together.data() + (kMostQueries + i) * size;
          const bool in_low = tile[i].begin < kAttentionChunk, in_high = tile[i].end > kAttentionChunk;
          if (in_low && in_high) loops->fold_partial(low, high, n);
          loops->finish(in_low ? low : high, n, out.data());
          const std::vector<double> expected = softmax(q.data() + size_t{i} * n, keys, values, n, tile[i], kScale);
          for (uint32_t k = 0; k < n; ++k) CHECK(std::abs(out[k] - expected[k]) < 2e-5);
        }
      }
    }
  }
}
