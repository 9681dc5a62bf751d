// qkv, linear_residual and gate_up against double precision, and what a row's bits may depend on.
#include "tests/kernels/host/rig.h"

namespace tdl::test {
namespace {

constexpr float kEps = 1e-5f;
struct Shape {
  uint32_t out, in;
};
constexpr Shape kShapes[] = {{16, 16}, {6, 37}, {48, 64}, {34, 2100}};

// One product with its inputs, for any of the three stages.
struct Product {
  Shape shape;
  uint32_t rows, live;
  Random random;
  Weights weights;
  Array<float> x, norm, bias, residual;
  Array<float> normed, sums, out;  // residual is the result of linear_residual, out of gate_up, sums of qkv
  Array<PassHeader> header;
  bool with_bias;

  Product(Shape shape, DType dtype, uint32_t live, bool with_bias, uint32_t padding = 2)
      : shape(shape), rows(live + padding), live(live), random(shape.out * 131 + shape.in), weights(shape.out, shape.in, dtype, random),
        x(random.floats(size_t{rows} * shape.in)), norm(random.floats(shape.in, 0.5f, 1.5f)), bias(random.floats(shape.out)),
        residual(random.floats(size_t{rows} * shape.out)), normed(size_t{rows} * shape.in), sums(size_t{rows} * shape.out),
        out(size_t{rows} * shape.out / 2), header(header_of(live)), with_bias(with_bias) {
    for (size_t i = size_t{live} * shape.in; i < x.size(); ++i) x[i] = kSentinel;
    for (size_t i = size_t{live} * shape.out; i < residual.size(); ++i) residual[i] = kSentinel;
  }
  QkvArgs qkv() {
    return {header.view(), x.view(), norm.view(), weights.matrix(), with_bias ? bias.view() : DevicePtr<const float>{},
            normed.ptr(), sums.ptr(), kEps, rows};
  }
  LinearResidualArgs linear_residual() {
    return {header.view(), x.view(), weights.matrix(), with_bias ? bias.view() : DevicePtr<const float>{}, residual.ptr(), rows};
  }
  GateUpArgs gate_up() {
    return {header.view(), x.view(), norm.view(), weights.matrix(), with_bias ? bias.view() : DevicePtr<const float>{},
            normed.ptr(), sums.ptr(), out.ptr(), DType::f32, kEps, rows};
  }
  // x or its norm, times W, plus bias, in double.
  std::vector<double> expected(bool normalise) const {
    std::vector<double> result;
    for (uint32_t row = 0; row < live; ++row) {
      const float* from = x.data() + size_t{row} * shape.in;
      std::vector<double> input(from, from + shape.in);
      if (normalise) input = rms_norm(from, norm.data(), shape.in, kEps);
      for (uint32_t o = 0; o < shape.out; ++o) result.push_back(weights.times(o, input.data()) + (with_bias ? bias[o] : 0.0));
    }
    return result;
  }
};

template <class F>
void for_products(const F& f) {
  for (const Shape shape : kShapes) {
    for (const DType dtype : kTypes) {
      for (const uint32_t rows : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 33u, 70u}) {
        if (rows > 9 && shape.in > 100) continue;
        CAPTURE(shape.out);
        CAPTURE(shape.in);
        CAPTURE(text_of(dtype));
        CAPTURE(rows);
        Product product(shape, dtype, rows, rows % 2 == 0);
        f(product);
      }
    }
  }
}

TEST_CASE("qkv is the product of the normed row, plus the bias where there is one; padding is left alone") {
  Rig rig;
  for_products([&](Product& p) {
    rig.run(rig.stages().qkv, p.qkv());
    CHECK(error_of(p.sums.data(), p.expected(true)) < 1e-5);
    CHECK(p.sums.untouched(size_t{p.live} * p.shape.out, p.sums.size()));
    CHECK(p.normed.untouched(size_t{p.live} * p.shape.in, p.normed.size()));
  });
}

TEST_CASE("linear_residual adds the product to the hidden state; padding is left alone") {
  Rig rig;
  for_products([&](Product& p) {
    std::vector<double> expected = p.expected(false);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += p.residual[i];
    rig.run(rig.stages().linear_residual, p.linear_residual());
    CHECK(error_of(p.residual.data(), expected) < 1e-5);
    CHECK(all_sentinel(p.residual, size_t{p.live} * p.shape.out));
  });
}

TEST_CASE("gate_up is SiLU of the upper half times the lower half; padding is left alone") {
  Rig rig;
  for_products([&](Product& p) {
    const std::vector<double> both = p.expected(true);
    std::vector<double> expected;
    const uint32_t half = p.shape.out / 2;
    for (uint32_t row = 0; row < p.live; ++row) {
      for (uint32_t i = 0; i < half; ++i) {
        const double gate = both[row * p.shape.out + i], up = both[row * p.shape.out + half + i];
        expected.push_back(gate / (1 + std::exp(-gate)) * up);
      }
    }
    rig.run(rig.stages().gate_up, p.gate_up());
    CHECK(error_of(p.out.data(), expected) < 1e-4);
    CHECK(p.out.untouched(size_t{p.live} * half, p.out.size()));
    CHECK(p.sums.untouched(size_t{p.live} * p.shape.out, p.sums.size()));
  });
}

TEST_CASE("a row's bits depend neither on its index nor on its neighbours nor on how many there are") {
  Rig rig;
  for (const DType dtype : kTypes) {
    CAPTURE(text_of(dtype));
    Product many({34, 2100}, dtype, 37, true);
    rig.run(rig.stages().qkv, many.qkv());
    rig.run(rig.stages().gate_up, many.gate_up());
    rig.run(rig.stages().linear_residual, many.linear_residual());
    for (const uint32_t row : {0u, 1u, 5u, 31u, 32u, 36u}) {
      for (const uint32_t others : {0u, 1u, 2u}) {  // alone, or behind rows of NaN
        CAPTURE(row);
        CAPTURE(others);
        Product few({34, 2100}, dtype, 1 + others, true, 0);
        const Product fresh({34, 2100}, dtype, 37, true);
        few.x.wipe();
        std::copy_n(many.x.data() + size_t{row} * 2100, 2100, few.x.data() + size_t{others} * 2100);
        std::copy_n(fresh.residual.data() + row * 34, 34, few.residual.data() + others * 34);
        few.norm = many.norm;
        few.bias = many.bias;
        rig.run(rig.stages().qkv, few.qkv());
        CHECK(same_bits(few.sums.data() + others * 34, many.sums.data() + row * 34, 34));
        rig.run(rig.stages().gate_up, few.gate_up());
        CHECK(same_bits(few.out.data() + others * 17, many.out.data() + row * 17, 17));
        rig.run(rig.stages().linear_residual, few.linear_residual());
        CHECK(same_bits(few.residual.data() + others * 34, many.residual.data() + row * 34, 34));
      }
    }
  }
}

TEST_CASE("products have the same bits with any number of threads") {
  for (const uint32_t rows : {1u, 7u}) {
    Product one({480, 100}, DType::bf16, rows, true);
    Rig alone(1);
    alone.run(alone.stages().gate_up, one.gate_up());
    for (const uint32_t threads : {2u, 4u}) {
      CAPTURE(threads);
      Product several({480, 100}, DType::bf16, rows, true);
      Rig rig(threads);
      rig.run(rig.stages().gate_up, several.gate_up());
      CHECK(same_bits(one.out, several.out));
      CHECK(same_bits(one.sums, several.sums));
    }
  }
}

TEST_CASE("gate_up refuses a matrix that has no two halves") {
  Rig rig;
  Product p({5, 16}, DType::f32, 1, false);
  CHECK(rig.stages().gate_up(p.gate_up(), *rig.stream).code() == Code::internal);
  rig.finish();
  CHECK(p.sums.untouched(0, p.sums.size()));
}

}  // namespace
}  // namespace tdl::test
