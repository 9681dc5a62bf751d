// rope_kv: head norms, rotation, and what goes into the cache, and nowhere else.
#include "tests/kernels/host/paged.h"

namespace tdl::test {
namespace {

constexpr float kEps = 1e-6f;

struct RopeKv {
  Paged pass;
  uint32_t width;  // elements of a row of qkv
  Random random{5};
  Array<float> cos_sin, q_norm, k_norm, qkv;

  RopeKv(std::vector<Seq> seqs, AttentionShape shape, uint32_t rows_per_seq, uint32_t padding)
      : pass(std::move(seqs), shape, rows_per_seq, padding), width((shape.heads + 2 * shape.kv_heads) * shape.head_dim),
        cos_sin(random.floats(size_t{pass.rows} * shape.head_dim)), q_norm(random.floats(shape.head_dim, 0.5f, 2)),
        k_norm(random.floats(shape.head_dim, 0.5f, 2)), qkv(random.floats(size_t{pass.rows} * width)) {
    for (size_t i = size_t{pass.live} * width; i < qkv.size(); ++i) qkv[i] = kSentinel;
  }
  RopeKvArgs args(bool norms) {
    return {pass.header.view(), pass.meta(), pass.shape, cos_sin.view(), norms ? q_norm.view() : DevicePtr<const float>{},
            norms ? k_norm.view() : DevicePtr<const float>{}, qkv.ptr(), pass.layer(), kEps, pass.rows};
  }
  // Row `row` of `before`, normed and rotated; v as it was.
  std::vector<double> expected(const Array<float>& before, uint32_t row, bool norms) const {
    const uint32_t n = pass.shape.head_dim, half = n / 2;
    const float* x = before.data() + size_t{row} * width;
    const float* angles = cos_sin.data() + size_t{row} * n;
    std::vector<double> out(x, x + width);
    for (uint32_t h = 0; h < pass.shape.heads + pass.shape.kv_heads; ++h) {
      std::vector<double> head(x + h * n, x + (h + 1) * n);
      if (norms) head = rms_norm(x + h * n, h < pass.shape.heads ? q_norm.data() : k_norm.data(), n, kEps);
      for (uint32_t i = 0; i < n; ++i) {
        const double rotated = i < half ? -head[i + half] : head[i - half];  // rotate_half
        out[h * n + i] = head[i] * angles[i % half] + rotated * angles[half + i % half];
      }
    }
    return out;
  }
};

TEST_CASE("rope_kv norms and rotates q and k in place, and puts k and v at each row's slot and nowhere else") {
  Rig rig;
  for (const uint32_t head_dim : {64u, 80u, 96u, 128u, 256u}) {
    for (const auto& pair : {std::pair{1u, 1u}, {4u, 2u}, {8u, 1u}}) {
      const uint32_t heads = pair.first, kv_heads = pair.second;
      for (const bool norms : {false, true}) {
        CAPTURE(head_dim);
        CAPTURE(heads);
        CAPTURE(norms);
        RopeKv rope({{15, 3}, {0, 2}, {17, 1}, {33, 2}}, {heads, kv_heads, head_dim, 16}, 0, 2);
        const Array<float> before = rope.qkv;
        rig.run(rig.stages().rope_kv, rope.args(norms));

        Array<float> cache(rope.pass.cache.size());
        for (uint32_t row = 0; row < rope.pass.live; ++row) {
          const float* actual = rope.qkv.data() + size_t{row} * rope.width;
          CHECK(error_of(actual, rope.expected(before, row, norms)) < 2e-6);
          if (rope.pass.slot[row] < 0) continue;
          for (uint32_t h = 0; h < kv_heads; ++h) {
            const float* k = actual + (heads + h) * head_dim;
            std::copy_n(k, head_dim, &cache[rope.pass.offset(rope.pass.slot[row], h, 0)]);
            std::copy_n(k + kv_heads * head_dim, head_dim, &cache[rope.pass.offset(rope.pass.slot[row], h, 1)]);
          }
        }
        CHECK(same_bits(rope.pass.cache, cache));
        CHECK(all_sentinel(rope.qkv, size_t{rope.pass.live} * rope.width));
      }
    }
  }
}

TEST_CASE("rope_kv writes no KV for padding, even where its slot names a block") {
  RopeKv rope({{5, 1}, {9, 1}}, {2, 1, 64, 16}, 1, 3);
  rope.pass.slot[2] = 1;  // stale: the header says that this row is padding
  const int64_t first = rope.pass.slot[0];
  rope.pass.slot[0] = -1;
  Rig rig;
  rig.run(rig.stages().rope_kv, rope.args(false));
  const size_t written = rope.pass.offset(rope.pass.slot[1], 0, 0);
  for (size_t i = 0; i < rope.pass.cache.size(); i += 64) {
    const bool mine = i == written || i == written + 16 * 64;  // the key, and its value one block of keys further
    CHECK(rope.pass.cache.untouched(i, i + 64) == !mine);
  }
  CHECK(rope.pass.cache.untouched(rope.pass.offset(first, 0, 0), rope.pass.offset(first, 0, 0) + 64));
}

TEST_CASE("rope_kv gives a row the same bits at any index and with any number of threads") {
  RopeKv many({{40, 9}}, {4, 2, 80, 32}, 0, 0);
  const Array<float> before = many.qkv;
  Rig alone(1), four(4);
  four.run(four.stages().rope_kv, many.args(true));
  for (const uint32_t row : {0u, 4u, 8u}) {
    RopeKv one({{40, 1}}, {4, 2, 80, 32}, 1, 0);
    std::copy_n(before.data() + size_t{row} * one.width, one.width, one.qkv.data());
    std::copy_n(many.cos_sin.data() + row * 80, 80, one.cos_sin.data());
    one.q_norm = many.q_norm;
    one.k_norm = many.k_norm;
    alone.run(alone.stages().rope_kv, one.args(true));
    CHECK(same_bits(one.qkv.data(), many.qkv.data() + size_t{row} * one.width, one.width));
  }
}

TEST_CASE("rope_kv refuses KV that is not f32 and heads that it cannot halve") {
  Rig rig;
  RopeKv rope({{5, 1}}, {2, 1, 64, 16}, 1, 0);
  RopeKvArgs args = rope.args(false);
  args.kv.dtype = DType::bf16;
  CHECK(rig.stages().rope_kv(args, *rig.stream).code() == Code::unsupported);
  args = rope.args(false);
  args.shape.head_dim = 63;
  CHECK(rig.stages().rope_kv(args, *rig.stream).code() == Code::unsupported);
  CHECK(!rig.device->supports_kv_dtype(DType::bf16));
  CHECK(rig.device->supports_kv_dtype(rig.device->default_kv_dtype(DType::f32)));
  rig.finish();
  CHECK(rope.pass.cache.untouched(0, rope.pass.cache.size()));
}

}  // namespace
}  // namespace tdl::test
