// embed: token embeddings, rotary angles, tokens that only the device knows.
#include "tests/kernels/host/rig.h"

namespace tdl::test {
namespace {

struct Embed {
  static constexpr uint32_t kRows = 5, kLive = 4, kHidden = 37, kHeadDim = 10, kVocab = 11;
  Random random{7};
  Weights table;
  Array<PassHeader> header = header_of(kLive);
  Array<uint32_t> positions{std::vector<uint32_t>{0, 3, 131071, 70, 9}}, tokens{std::vector<uint32_t>{0, 10, 4, 4, 2}};
  Array<int32_t> from{std::vector<int32_t>{-1, 2, 0, 1, 0}};
  Array<uint32_t> sampled{std::vector<uint32_t>{9, kNoToken, 7}};
  Array<float> inv_freq{std::vector<float>{1.0f, 0.3f, 0.09f, 0.027f, 0.0081f}};
  Array<float> hidden{kRows * kHidden}, cos_sin{kRows * kHeadDim};
  EmbedArgs args = {};

  explicit Embed(DType dtype) : table(kVocab, kHidden, dtype, random) {
    args.header = header.view();
    args.meta.positions = args.meta.positions_h = args.meta.positions_w = positions.view();
    args.token_ids = tokens.view();
    args.table = table.matrix();
    args.inv_freq = inv_freq.view();
    args.hidden = hidden.ptr();
    args.cos_sin = cos_sin.ptr();
    args.rope_scale = 1;
    args.rows = kRows;
    args.hidden_size = kHidden;
    args.head_dim = kHeadDim;
    args.vocab_size = kVocab;
  }
  bool row_is(uint32_t row, uint32_t token) const {
    return same_bits(hidden.data() + row * kHidden, table.f32.data() + token * kHidden, kHidden);
  }
};

TEST_CASE("embed widens the token's row exactly, in every stored type") {
  for (const DType dtype : kTypes) {
    CAPTURE(text_of(dtype));
    Embed embed(dtype);
    Rig rig;
    rig.run(rig.stages().embed, embed.args);
    for (uint32_t row = 0; row < Embed::kLive; ++row) CHECK(embed.row_is(row, embed.tokens[row]));
  }
}

TEST_CASE("embed widens every f16 number exactly") {
  Random random(1);
  Weights all(1, 65536, DType::f16, random);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    all.half[bits] = static_cast<uint16_t>(bits);
    all.f32[bits] = f16_to_f32(static_cast<uint16_t>(bits));
  }
  Embed embed(DType::f16);
  Array<float> hidden(65536);
  embed.header = header_of(1);
  embed.args.header = embed.header.view();
  embed.args.table = all.matrix();
  embed.args.hidden = hidden.ptr();
  embed.args.hidden_size = 65536;
  embed.args.vocab_size = 1;
  Rig rig;
  rig.run(rig.stages().embed, embed.args);
  CHECK(same_bits(hidden, all.f32));
}

TEST_CASE("embed takes a row's token from the sampled ones where token_from says so") {
  Embed embed(DType::bf16);
  embed.args.token_from = embed.from.view();
  embed.args.sampled_tokens = embed.sampled.view();
  Rig rig;
  rig.run(rig.stages().embed, embed.args);
  CHECK(embed.row_is(0, embed.tokens[0]));
  CHECK(embed.row_is(1, 7));
  CHECK(embed.row_is(2, 9));
  CHECK(embed.row_is(3, 0));  // kNoToken
}

TEST_CASE("embed's angles are the f32 product of position and frequency, scaled") {
  for (const float scale : {1.0f, 1.25f}) {
    Embed embed(DType::f32);
    embed.args.rope_scale = scale;
    Rig rig;
    rig.run(rig.stages().embed, embed.args);
    std::vector<double> expected;
    for (uint32_t row = 0; row < Embed::kLive; ++row) {
      for (uint32_t part = 0; part < 2; ++part) {
        for (uint32_t i = 0; i < Embed::kHeadDim / 2; ++i) {
          const double angle = static_cast<float>(embed.positions[row]) * embed.inv_freq[i];
          expected.push_back(scale * (part ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
    CHECK(error_of(embed.cos_sin.data(), expected) < 2e-7);
  }
}

TEST_CASE("embed leaves padding rows unwritten") {
  Embed embed(DType::bf16);
  Rig rig;
  rig.run(rig.stages().embed, embed.args);
  CHECK(embed.hidden.untouched(Embed::kLive * Embed::kHidden, Embed::kRows * Embed::kHidden));
  CHECK(embed.cos_sin.untouched(Embed::kLive * Embed::kHeadDim, Embed::kRows * Embed::kHeadDim));
}

}  // namespace
}  // namespace tdl::test
