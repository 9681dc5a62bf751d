// The inner loops of every instruction set that this machine can run, against double precision.
#include <doctest/doctest.h>

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
  for (const InnerLoops* loops : Sets()) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      for (const uint32_t in : {1u, 15u, 64u, 250u, 256u, 257u, 768u, 1601u}) {
        CAPTURE(loops->name);
        CAPTURE(name_of(type));
        CAPTURE(in);
        const Weight weight(random, type, kBlockOuts, in);
        const std::vector<float> x = numbers(random, size_t{kBlockRows} * in);
        std::vector<float> first;
        for (const uint32_t rows : {kBlockRows, 1u, 2u, 3u, 5u, 6u, 7u, 13u}) {
          for (const uint32_t outs : {kBlockOuts, 1u, 3u, 30u}) {
            std::vector<const float*> pointers;
            for (uint32_t r = 0; r < rows; ++r) pointers.push_back(x.data() + size_t{r} * in);
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
                double expected = 0, size = 0;
                for (uint32_t i = 0; i < in; ++i) {
                  const double product = static_cast<double>(weight.value[size_t{o} * in + i]) * x[size_t{r} * in + i];
                  expected += product;
                  size += std::abs(product);
                }
                wrong += !(std::abs(got - expected) <= 1e-6 * size + 1e-30);
                differs += std::memcmp(&got, &first[r * kBlockOuts + o], sizeof got) != 0;
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

TEST_CASE("every set attends over runs of positions, and folds chunks") {
  std::mt19937 random(2);
  for (const InnerLoops* loops : Sets()) {
    for (const uint32_t n : {64u, 80u, 20u}) {
      for (const uint32_t length : {1u, 16u, 100u, kAttentionChunk}) {
        CAPTURE(loops->name);
        CAPTURE(n);
        CAPTURE(length);
        constexpr uint32_t kHeads = 3;
        const std::vector<float> q = numbers(random, kHeads * n), keys = numbers(random, size_t{2} * length * n), values = numbers(random, size_t{2} * length * n);
        std::vector<float> partial(2 * kHeads * (n + 2)), scores(kHeads * kAttentionChunk), out(n);
        const float scale = 0.125f;
        for (uint32_t half = 0; half < 2; ++half) {  // two chunks, each in two runs
          const float *k = keys.data() + size_t{half} * length * n, *v = values.data() + size_t{half} * length * n;
          const uint32_t cut = length / 3;
          const KvRun runs[2] = {{k, v, 0, cut}, {k + size_t{cut} * n, v + size_t{cut} * n, cut, length - cut}};
          loops->attend(q.data(), kHeads, n, cut ? runs : runs + 1, cut ? 2 : 1, scale, scores.data(), partial.data() + half * kHeads * (n + 2));
        }
        for (uint32_t h = 0; h < kHeads; ++h) {
          loops->fold(partial.data() + h * (n + 2), partial.data() + (kHeads + h) * (n + 2), n);
          loops->finish(partial.data() + h * (n + 2), n, out.data());
          double sum = 0;
          std::vector<double> expected(n);
          for (uint32_t p = 0; p < 2 * length; ++p) {
            double score = 0;
            for (uint32_t i = 0; i < n; ++i) score += static_cast<double>(q[h * n + i]) * keys[size_t{p} * n + i];
            const double e = std::exp(score * scale);
            sum += e;
            for (uint32_t i = 0; i < n; ++i) expected[i] += e * values[size_t{p} * n + i];
          }
          for (uint32_t i = 0; i < n; ++i) CHECK(std::abs(out[i] - expected[i] / sum) < 2e-5);
        }
      }
    }
  }
}
