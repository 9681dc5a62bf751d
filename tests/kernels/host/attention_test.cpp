// attention against a softmax in double precision, and that neither split nor chunking nor neighbours change a bit.
#include "tests/kernels/host/paged.h"

namespace tdl::test {
namespace {

struct Attention {
  Paged pass;
  uint32_t width;
  Random random{11};
  Array<float> qkv, out, partials;
  float scale;
  uint32_t window = 0;

  Attention(std::vector<Seq> seqs, AttentionShape shape, uint32_t rows_per_seq, uint32_t padding = 2)
      : pass(std::move(seqs), shape, rows_per_seq, padding), width((shape.heads + 2 * shape.kv_heads) * shape.head_dim),
        qkv(size_t{pass.rows} * width), out(size_t{pass.rows} * shape.heads * shape.head_dim),
        partials(size_t{max_chunks()} * shape.heads * (shape.head_dim + 2)), scale(1 / std::sqrt(static_cast<float>(shape.head_dim))) {
    std::vector<uint32_t> seeds;
    for (uint32_t s = 0; s < pass.seqs.size(); ++s) seeds.push_back(s + 1);
    pass.fill(seeds);
    for (uint32_t row = 0; row < pass.live; ++row)
      for (uint32_t i = 0; i < shape.heads * shape.head_dim; ++i) qkv[size_t{row} * width + i] = random.uniform(-2, 2);
  }
  uint32_t max_chunks() const { return pass.header[0].num_chunks; }
  AttentionArgs args(bool may_split) {
    return {pass.header.view(), pass.meta(), pass.shape, pass.chunk_start.view(), qkv.view(), pass.layer(), out.ptr(), DType::f32,
            partials.ptr(), {}, may_split ? max_chunks() : 0, scale, window, pass.rows, pass.rows_per_seq};
  }
  std::vector<double> expected() const {
    const uint32_t n = pass.shape.head_dim, group = pass.shape.heads / pass.shape.kv_heads;
    std::vector<double> result;
    for (uint32_t s = 0, row = 0; s < pass.seqs.size(); ++s) {
      for (uint32_t i = 0; i < pass.seqs[s].rows; ++i, ++row) {
        const int64_t index = int64_t{pass.seqs[s].length} - pass.seqs[s].rows + i;
        const int64_t first = window ? std::max<int64_t>(0, index - window + 1) : 0;
        for (uint32_t h = 0; h < pass.shape.heads; ++h) {
          std::vector<double> sum(n, 0.0), scores;
          const float* q = qkv.data() + size_t{row} * width + h * n;
          for (int64_t p = first; p <= index && pass.seqs[s].length; ++p) {
            const float* k = &pass.cache[pass.offset(s, static_cast<uint32_t>(p), h / group, 0)];
            double dot = 0;
            for (uint32_t d = 0; d < n; ++d) dot += double{q[d]} * k[d];
            scores.push_back(dot * scale);
          }
          const double most = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
          double total = 0;
          for (double& score : scores) total += score = std::exp(score - most);
          for (size_t p = 0; p < scores.size(); ++p) {
            const float* v = &pass.cache[pass.offset(s, static_cast<uint32_t>(first) + static_cast<uint32_t>(p), h / group, 1)];
            for (uint32_t d = 0; d < n; ++d) sum[d] += scores[p] / total * v[d];
          }
          result.insert(result.end(), sum.begin(), sum.end());
        }
      }
    }
    return result;
  }
  uint32_t live_elements() const { return pass.live * pass.shape.heads * pass.shape.head_dim; }
};

// Runs it, compares, and looks that padding was left alone.
void check(Rig& rig, Attention& attention) {
  rig.run(rig.stages().attention, attention.args(true));
  CHECK(error_of(attention.out.data(), attention.expected()) < 5e-6);
  CHECK(attention.out.untouched(attention.live_elements(), attention.out.size()));
}

TEST_CASE("decode attention over every head shape, at lengths around blocks and chunks") {
  Rig rig;
  for (const uint32_t head_dim : {64u, 80u, 96u, 128u, 256u}) {
    for (const auto& pair : {std::pair{2u, 2u}, {4u, 2u}, {8u, 1u}, {12u, 1u}}) {
      const uint32_t heads = pair.first, kv_heads = pair.second;
      CAPTURE(head_dim);
      CAPTURE(heads);
      Attention attention({{1, 1}, {0, 1}, {15, 1}, {16, 1}, {17, 1}, {255, 1}, {256, 1}, {257, 1}, {300, 1}},
                          {heads, kv_heads, head_dim, 16}, 1);
      check(rig, attention);
    }
  }
}

TEST_CASE("decode attention with several rows for each sequence") {
  Rig rig;
  for (const uint32_t block_size : {16u, 64u, 128u}) {
    CAPTURE(block_size);
    Attention attention({{4, 4}, {0, 4}, {258, 4}, {1000, 4}}, {4, 2, 64, block_size}, 4, 4);
    check(rig, attention);
  }
}

TEST_CASE("prefill attention of one sequence, and ragged over several") {
  Rig rig;
  for (const uint32_t rows : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) {
    CAPTURE(rows);
    Attention first({{rows, rows}}, {4, 2, 80, 16}, 0);
    check(rig, first);
    Attention later({{260, rows}}, {4, 2, 80, 16}, 0);
    check(rig, later);
    Attention ragged({{rows, rows}, {0, 2}, {257, 1}, {7, 0}, {40, 9}}, {4, 2, 80, 16}, 0);
    check(rig, ragged);
  }
}

TEST_CASE("a window hides what lies before it, chunks of it included") {
  Rig rig;
  for (const uint32_t window : {1u, 7u, 16u, 100u, 256u, 257u, 600u, 5000u}) {
    CAPTURE(window);
    Attention decode({{1, 1}, {16, 1}, {256, 1}, {257, 1}, {1000, 1}}, {4, 2, 64, 16}, 1);
    decode.window = window;
    check(rig, decode);
    Attention prefill({{520, 9}}, {4, 2, 64, 32}, 0);
    prefill.window = window;
    check(rig, prefill);
    Attention lone({{1000, 1}}, {2, 1, 64, 32}, 1, 0);
    lone.window = window;
    check(rig, lone);
  }
}

TEST_CASE("scores far apart, within a chunk and between chunks, neither overflow nor lose the largest") {
  Rig rig;
  for (const float scale : {20.0f, -20.0f}) {  // scores up to some 1000 either way
    Attention attention({{900, 1}, {300, 1}}, {4, 2, 64, 16}, 1);
    attention.scale = scale;
    rig.run(rig.stages().attention, attention.args(true));
    CHECK(error_of(attention.out.data(), attention.expected()) < 1e-3);  // the scores' own f32 rounding
  }
}

TEST_CASE("splitting a row's chunks over the threads changes no bit") {
  Rig alone(1), four(4);
  for (const uint32_t window : {0u, 300u}) {
    for (const uint32_t length : {257u, 512u, 1000u, 2049u}) {
      for (const uint32_t heads : {1u, 3u, 12u}) {
        CAPTURE(window);
        CAPTURE(length);
        CAPTURE(heads);
        Attention whole({{length, 1}, {0, 1}, {300, 1}}, {heads, 1, 96, 16}, 1);
        whole.window = window;
        Attention split = whole, limited = whole;
        alone.run(alone.stages().attention, whole.args(true));
        CHECK(whole.partials.untouched(0, whole.partials.size()));
        four.run(four.stages().attention, split.args(true));
        CHECK_FALSE(split.partials.untouched(0, split.partials.size()));  // it did split
        CHECK(same_bits(whole.out, split.out));
        four.run(four.stages().attention, limited.args(false));  // no room for the partials
        CHECK(limited.partials.untouched(0, limited.partials.size()));
        CHECK(same_bits(whole.out, limited.out));
      }
    }
  }
}

TEST_CASE("a prefill has the same bits in one piece and in chunks, beside others and as decode") {
  Rig rig(4);
  const AttentionShape shape = {4, 2, 64, 16};
  constexpr uint32_t kLength = 270, kWidth = 8 * 64, kOut = 4 * 64;
  Attention whole({{kLength, kLength}}, shape, 0, 0);
  rig.run(rig.stages().attention, whole.args(true));
  for (uint32_t end = 1; end <= kLength; end += end < 250 ? 61 : 1) {
    CAPTURE(end);
    const uint32_t row = end - 1;
    Attention decode({{end, 1}}, shape, 1, 3);  // the same sequence so far: what its cache holds goes by its seed
    std::copy_n(whole.qkv.data() + row * kWidth, kWidth, decode.qkv.data());
    rig.run(rig.stages().attention, decode.args(true));
    CHECK(same_bits(decode.out.data(), whole.out.data() + row * kOut, kOut));

    Attention ragged({{end, 1}, {100, 5}}, shape, 0, 0);
    std::copy_n(whole.qkv.data() + row * kWidth, kWidth, ragged.qkv.data());
    rig.run(rig.stages().attention, ragged.args(true));
    CHECK(same_bits(ragged.out.data(), whole.out.data() + row * kOut, kOut));

    if (end < 5) continue;
    Attention chunk({{end, 5}}, shape, 0, 0);
    std::copy_n(whole.qkv.data() + (end - 5) * kWidth, 5 * kWidth, chunk.qkv.data());
    rig.run(rig.stages().attention, chunk.args(true));
    CHECK(same_bits(chunk.out.data(), whole.out.data() + (end - 5) * kOut, 5 * kOut));
  }
}

TEST_CASE("a NaN in one sequence's keys stays in that sequence") {
  Rig rig;
  Attention attention({{20, 1}, {20, 1}}, {2, 1, 64, 16}, 1, 0);
  const std::vector<double> expected = attention.expected();
  attention.pass.cache[attention.pass.offset(0, 3, 0, 0)] = std::numeric_limits<float>::quiet_NaN();
  rig.run(rig.stages().attention, attention.args(true));
  CHECK(std::isnan(attention.out[0]));
  CHECK(error_of(attention.out.data() + 128, {expected.begin() + 128, expected.end()}) < 5e-6);
}

TEST_CASE("a row that comes before its sequence's first position reads nothing") {
  Rig rig;
  Attention attention({{8, 4}}, {2, 1, 64, 16}, 4, 0);
  attention.pass.seq_len[0] = 2;  // rows 0 and 1 would have KV indices -2 and -1
  rig.run(rig.stages().attention, attention.args(true));
  for (uint32_t i = 0; i < 2 * 128; ++i) CHECK(attention.out[i] == 0);
  CHECK(attention.out[2 * 128] != 0);
}

}  // namespace
}  // namespace tdl::test
