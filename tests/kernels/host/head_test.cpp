// head, sample and kv_copy.
#include "tests/kernels/host/rig.h"

namespace tdl::test {
namespace {

struct Head {
  static constexpr uint32_t kIn = 40, kVocab = 101;
  Random random{3};
  Weights weights;
  uint32_t outputs;
  Array<float> hidden, norm;
  Array<int32_t> output_row;
  Array<float> hidden_out, logits;
  Array<int32_t> row_status;
  Array<uint32_t> tokens;
  Array<PassHeader> header;

  Head(DType dtype, std::vector<int32_t> rows_of_outputs, uint32_t rows)
      : weights(kVocab, kIn, dtype, random), outputs(static_cast<uint32_t>(rows_of_outputs.size())),
        hidden(random.floats(size_t{rows} * kIn)), norm(random.floats(kIn, 0.5f, 1.5f)), output_row(std::move(rows_of_outputs)),
        hidden_out(size_t{outputs + 1} * kIn), logits(size_t{outputs + 1} * kVocab), row_status(outputs + 1), tokens(outputs + 1),
        header(header_of(rows, outputs)) {}
  HeadArgs head() {
    return {header.view(), output_row.view(), hidden.view(), norm.view(), weights.matrix(), {}, hidden_out.ptr(), logits.ptr(),
            row_status.ptr(), 1e-5f, outputs};
  }
  SampleArgs sample() {
    return {header.view(), output_row.view(), logits.view(), row_status.view(), tokens.ptr(), outputs, kVocab};
  }
};

TEST_CASE("head gives the logits of the chosen rows, and zeros for outputs that are padding") {
  Rig rig;
  for (const DType dtype : kTypes) {
    for (uint32_t count = 1; count <= 9; ++count) {
      CAPTURE(text_of(dtype));
      CAPTURE(count);
      std::vector<int32_t> rows;
      for (uint32_t o = 0; o < count; ++o) rows.push_back(o % 3 == 2 ? -1 : static_cast<int32_t>(o * 5 % 7));
      Head head(dtype, rows, 7);
      rig.run(rig.stages().head, head.head());
      std::vector<double> normed, logits;
      for (const int32_t row : rows) {
        std::vector<double> x(Head::kIn, 0.0);
        if (row >= 0) x = rms_norm(head.hidden.data() + row * Head::kIn, head.norm.data(), Head::kIn, 1e-5f);
        normed.insert(normed.end(), x.begin(), x.end());
        for (uint32_t o = 0; o < Head::kVocab; ++o) logits.push_back(head.weights.times(o, x.data()));
      }
      CHECK(error_of(head.hidden_out.data(), normed) < 1e-6);
      CHECK(error_of(head.logits.data(), logits) < 5e-6);
      for (uint32_t o = 0; o < count; ++o) CHECK(head.row_status[o] == 0);
      CHECK(head.hidden_out.untouched(size_t{count} * Head::kIn, head.hidden_out.size()));
      CHECK(head.logits.untouched(size_t{count} * Head::kVocab, head.logits.size()));
      CHECK(head.row_status.untouched(count, count + 1));
    }
  }
}

TEST_CASE("head handles more outputs than one tile, with the bits that each has alone") {
  std::vector<int32_t> rows;
  for (int32_t o = 0; o < 80; ++o) rows.push_back(o % 5 == 0 ? -1 : 79 - o);
  Head many(DType::bf16, rows, 80);
  Rig four(4), alone(1);
  four.run(four.stages().head, many.head());
  for (const uint32_t output : {1u, 33u, 41u, 79u}) {
    CAPTURE(output);
    Head one(DType::bf16, {rows[output]}, 80);
    alone.run(alone.stages().head, one.head());
    CHECK(same_bits(one.logits.data(), many.logits.data() + output * Head::kVocab, Head::kVocab));
  }
}

TEST_CASE("a row whose logits are not finite is marked, and only that row") {
  Rig rig;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Head head(DType::f32, {0, 1, -1, 2}, 3);
    head.hidden[Head::kIn + 5] = bad;
    rig.run(rig.stages().head, head.head());
    rig.run(rig.stages().sample, head.sample());
    CHECK(head.row_status[0] == 0);
    CHECK(head.row_status[1] == static_cast<int32_t>(Code::numeric));
    CHECK(head.row_status[2] == 0);
    CHECK(head.row_status[3] == 0);
    CHECK(head.tokens[1] == 0);
    CHECK(head.tokens[2] == kNoToken);
  }
  Head head(DType::f32, {0, 1}, 2);  // one logit of one row overflows
  for (uint32_t i = 0; i < Head::kIn; ++i) {
    head.weights.f32[77 * Head::kIn + i] = 2e38f;
    head.norm[i] = 1;
    head.hidden[i] = 1;
    head.hidden[Head::kIn + i] = i == 0 ? 1.0f : 0.0f;  // normed: sqrt(40), so that the products with the others are small
  }
  head.weights.f32[77 * Head::kIn] = 1;
  rig.run(rig.stages().head, head.head());
  CHECK(head.row_status[0] == static_cast<int32_t>(Code::numeric));
  CHECK(head.row_status[1] == 0);
}

TEST_CASE("sample takes the lowest of the largest logits") {
  Rig rig;
  Head head(DType::f32, {0, 0, 0, 0, -1, 0}, 1);
  for (uint32_t o = 0; o < 6; ++o) {
    head.row_status[o] = 0;
    for (uint32_t i = 0; i < Head::kVocab; ++i) head.logits[o * Head::kVocab + i] = -1 - static_cast<float>(i % 7);
  }
  head.logits[0 * Head::kVocab + 100] = 5;                                           // the last
  head.logits[1 * Head::kVocab + 40] = head.logits[1 * Head::kVocab + 60] = 0.5f;    // a tie
  head.logits[2 * Head::kVocab + 3] = -0.0f, head.logits[2 * Head::kVocab + 9] = 0;  // equal too
  head.logits[5 * Head::kVocab + 50] = 5;
  head.row_status[5] = static_cast<int32_t>(Code::numeric);
  rig.run(rig.stages().sample, head.sample());
  CHECK(head.tokens[0] == 100);
  CHECK(head.tokens[1] == 40);
  CHECK(head.tokens[2] == 3);
  CHECK(head.tokens[3] == 0);
  CHECK(head.tokens[4] == kNoToken);
  CHECK(head.tokens[5] == 0);
  CHECK(head.tokens.untouched(6, 7));
}

TEST_CASE("kv_copy copies blocks in every layer, in their order, and nothing else") {
  constexpr uint32_t kLayers = 3, kBlocks = 6, kFloats = 20;
  Array<float> kv(kLayers * kBlocks * kFloats);
  for (size_t i = 0; i < kv.size(); ++i) kv[i] = static_cast<float>(i);
  Array<float> expected = kv;
  KvCopyArgs args = {};
  args.data = {kv.ptr().address};
  args.layer_bytes = kBlocks * kFloats * sizeof(float);
  args.block_bytes = kFloats * sizeof(float);
  args.layers = kLayers;
  args.count = 4;
  const int32_t from[] = {0, 4, 5, 2}, to[] = {4, 5, 1, 2};
  std::copy_n(from, 4, args.from);
  std::copy_n(to, 4, args.to);
  for (uint32_t layer = 0; layer < kLayers; ++layer)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t j = 0; j < kFloats; ++j)
        expected[(layer * kBlocks + to[i]) * kFloats + j] = expected[(layer * kBlocks + from[i]) * kFloats + j];
  Rig rig;
  rig.run(rig.stages().kv_copy, args);
  CHECK(same_bits(kv, expected));
  args.count = KvCopyArgs::kMost + 1;
  CHECK(rig.stages().kv_copy(args, *rig.stream).code() == Code::internal);
}

}  // namespace
}  // namespace tdl::test
