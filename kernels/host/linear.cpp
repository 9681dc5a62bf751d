// The dense products of a layer: qkv, linear_residual (o and down), gate_up.
#include "kernels/host/product.h"
#include "kernels/host/table.h"

namespace tdl::host {
namespace {

void norm_rows(const float* x, const float* weight, uint32_t rows, uint32_t n, float eps, float* out, Pool& pool) {
  pool.for_each(rows, [&](uint32_t row) { pool.loops().rms_norm(x + uint64_t{row} * n, weight, n, eps, out + uint64_t{row} * n); });
}

// Row r of a matrix of `n` columns.
struct RowsOf {
  const float* x;
  uint32_t n;
  const float* operator()(uint32_t row) const { return x + uint64_t{row} * n; }
};

}  // namespace

void qkv(const QkvArgs& args, Pool& pool) {
  const uint32_t rows = live_rows(args.header, args.rows);
  const float* bias = at(args.bias);
  float* normed = operand(args.normed);
  norm_rows(at(args.hidden), at(args.norm), rows, args.weight.in, args.eps, normed, pool);
  product(args.weight, rows, pool, RowsOf{normed, args.weight.in}, [&](uint32_t row, uint32_t first, uint32_t outs, const float* sums) {
    float* out = at(args.qkv) + uint64_t{row} * args.weight.out + first;
    for (uint32_t i = 0; i < outs; ++i) out[i] = bias ? sums[i] + bias[first + i] : sums[i];
  });
}

void linear_residual(const LinearResidualArgs& args, Pool& pool) {
  const float* bias = at(args.bias);
  product(args.weight, live_rows(args.header, args.rows), pool, RowsOf{operand(args.x), args.weight.in},
          [&](uint32_t row, uint32_t first, uint32_t outs, const float* sums) {
            float* out = at(args.hidden) + uint64_t{row} * args.weight.out + first;
            for (uint32_t i = 0; i < outs; ++i) out[i] += bias ? sums[i] + bias[first + i] : sums[i];
          });
}

void gate_up(const GateUpArgs& args, Pool& pool) {
  const uint32_t rows = live_rows(args.header, args.rows), both = args.weight.out, intermediate = both / 2;
  const float* bias = at(args.bias);
  float* normed = operand(args.normed);
  norm_rows(at(args.hidden), at(args.norm), rows, args.weight.in, args.eps, normed, pool);
  product(args.weight, rows, pool, RowsOf{normed, args.weight.in}, [&](uint32_t row, uint32_t first, uint32_t outs, const float* sums) {
    float* out = operand(args.gate_up) + uint64_t{row} * both + first;
    for (uint32_t i = 0; i < outs; ++i) out[i] = bias ? sums[i] + bias[first + i] : sums[i];
  });
  constexpr uint32_t kSlice = 1024;
  const uint32_t slices = (intermediate + kSlice - 1) / kSlice;
  pool.for_each(rows * slices, [&](uint32_t item) {
    const uint32_t row = item / slices, begin = item % slices * kSlice, end = std::min(begin + kSlice, intermediate);
    const float* gate = operand(args.gate_up) + uint64_t{row} * both;
    pool.loops().silu_mul(gate + begin, gate + intermediate + begin, end - begin, operand(args.out) + uint64_t{row} * intermediate + begin);
  });
}

}  // namespace tdl::host
