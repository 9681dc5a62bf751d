#include "kernels/cuda/stream_linear.h"

#include <algorithm>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/stream_linear_kernel.cuh"

namespace tdl::cuda {
namespace {

static_assert(static_cast<uint32_t>(Finish::residual) == 1 && static_cast<uint32_t>(Finish::silu_mul) == 2 && static_cast<uint32_t>(Finish::logits) == 3);
static_assert(static_cast<int32_t>(Code::numeric) == -18);

struct Instance {
  void (*kernel)(const StreamParameters);
  uint32_t tiles, columns, shared_bytes;  // columns: n tiles of 8 rows
  bool f16, norm;
};

template <class T, bool kNorm, uint32_t kTiles, uint32_t kN, uint32_t kStages>
constexpr Instance instance() {
  return {stream_linear_kernel<T, kNorm, kTiles, kN, kStages>, kTiles, kN, StreamShared<kTiles, kN, kStages>::kBytes, std::is_same_v<T, __half>, kNorm};
}

template <class T, bool kNorm>
struct Set {
  // The ring holds 144 to 192 KB where a block may have that much; the last two fit into 99 KB.
  static constexpr uint32_t kCount = 8;
  static constexpr Instance kInstances[kCount] = {
      instance<T, kNorm, 2, 1, 5>(), instance<T, kNorm, 3, 1, 4>(), instance<T, kNorm, 4, 1, 3>(), instance<T, kNorm, 6, 1, 2>(),
      instance<T, kNorm, 2, 2, 5>(), instance<T, kNorm, 4, 2, 3>(), instance<T, kNorm, 2, 1, 2>(), instance<T, kNorm, 2, 2, 2>(),
  };
};

template <class Visit>
Status for_each_instance(Visit&& visit) {
  for (const Instance& i : Set<__nv_bfloat16, true>::kInstances) TDL_TRY(visit(i));
  for (const Instance& i : Set<__nv_bfloat16, false>::kInstances) TDL_TRY(visit(i));
  for (const Instance& i : Set<__half, false>::kInstances) TDL_TRY(visit(i));
  return {};
}

struct Choice {
  const Instance* instance = nullptr;
  uint32_t groups = 0, grid = 0;
  uint64_t cost = UINT64_MAX;
};

// The tile count whose busiest block has the least to do; of equals the larger, which reads x less often.
template <class T, bool kNorm>
Choice choose(uint32_t tiles, bool paired, uint32_t rows, uint32_t blocks, uint32_t shared_limit) {
  Choice best;
  const uint32_t columns = rows <= 8 ? 1 : 2;
  for (const Instance& i : Set<T, kNorm>::kInstances) {
    if (i.columns != columns || i.shared_bytes > shared_limit || (paired && i.tiles % 2)) continue;
    const uint32_t groups = (tiles + i.tiles - 1) / i.tiles, rounds = (groups + blocks - 1) / blocks;
    const uint64_t cost = uint64_t{rounds} * i.tiles;
    if (cost > best.cost || (cost == best.cost && i.shared_bytes < best.instance->shared_bytes)) continue;
    best = {&i, groups, (groups + rounds - 1) / rounds, cost};
  }
  return best;
}

}  // namespace

Status prepare_stream_linear(uint32_t shared_limit) {
  return for_each_instance([shared_limit](const Instance& i) {
    return i.shared_bytes <= shared_limit ? allow_shared("stream_linear", i.kernel, i.shared_bytes) : Status();
  });
}

Status stream_linear(const StreamLinear& a, CudaStream& stream) {
  const bool paired = a.finish == Finish::silu_mul, normed = static_cast<bool>(a.norm);
  const bool f16 = a.weight.dtype == DType::f16;
  if (a.rows == 0) return {};
  if (a.rows > kStreamRows || a.weight.dtype == DType::f32 || (f16 && normed))
    return fail(Code::internal, "stream_linear: %u rows, weights in %s%s", a.rows, name_of(a.weight.dtype), normed ? ", with norm" : "");
  StreamParameters p{};
  p.weight = at(a.weight.data);
  p.out = a.weight.out;
  p.in = a.weight.in;
  p.tile_rows = paired ? a.weight.out / 2 : a.weight.out;
  p.x = at(a.x);
  p.hidden = at(a.hidden);
  p.norm = at(a.norm);
  p.bias = at(a.bias);
  p.result = at(a.out);
  p.f16_result = a.out_dtype == DType::f16;
  p.header = at(a.header);
  p.output_row = at(a.output_row);
  p.row_status = at(a.row_status);
  p.eps = a.eps;
  p.rows = a.rows;
  p.finish = static_cast<uint32_t>(a.finish);
  const uint32_t tiles = (p.tile_rows + 15) / 16 * (paired ? 2 : 1);
  const uint32_t blocks = multiprocessors(stream.device()), shared = shared_limit(stream.device());
  const Choice choice = f16      ? choose<__half, false>(tiles, paired, a.rows, blocks, shared)
                        : normed ? choose<__nv_bfloat16, true>(tiles, paired, a.rows, blocks, shared)
                                 : choose<__nv_bfloat16, false>(tiles, paired, a.rows, blocks, shared);
  if (!choice.instance) return fail(Code::unsupported, "a product of %u x %u for %u rows has no kernel for a block of %u bytes", a.weight.out, a.weight.in, a.rows, shared);
  p.groups = choice.groups;
  return launch(stream, "stream_linear", choice.instance->kernel, Shape{dim3(choice.grid), dim3(kStreamThreads), choice.instance->shared_bytes}, p);
}

}  // namespace tdl::cuda
