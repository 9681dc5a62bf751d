// The dense products of a layer: qkv, linear_residual (o and down), gate_up.  Few rows go through stream_linear, many through cuBLASLt.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/stream_linear.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

// x of a product behind a norm: inside the product where it can be, else through `normed`.
template <class Args>
Status set_normed(const Args& args, StreamLinear* product, CudaStream& stream) {
  // x * norm is rounded before it is scaled by 1 / rms, which a type with bf16's range does not notice.
  if (args.weight.dtype == DType::bf16) {
    product->hidden = args.hidden;
    product->norm = args.norm;
    product->eps = args.eps;
    return {};
  }
  product->x = args.normed;
  return norm_rows({at(args.header), at(args.hidden), at(args.norm), nullptr, at(args.normed), nullptr, nullptr, args.weight.dtype, args.eps, args.rows, args.weight.in}, stream);
}

template <class Args>
Status normed_product(const Args& args, const float* bias, void* out, DType out_dtype, CudaStream& stream) {
  TDL_TRY(norm_rows({at(args.header), at(args.hidden), at(args.norm), nullptr, at(args.normed), nullptr, nullptr, args.weight.dtype, args.eps, args.rows, args.weight.in}, stream));
  return products(stream.device()).run({args.weight, at(args.normed), bias, out, out_dtype, false, args.rows}, stream);
}

template <class Args>
StreamLinear product_of(const Args& args, Finish finish) {
  StreamLinear product{};
  product.weight = args.weight;
  product.bias = args.bias;
  product.header = args.header;
  product.rows = args.rows;
  product.finish = finish;
  return product;
}

}  // namespace

Status qkv(const QkvArgs& args, Stream& stream) {
  CudaStream& on = cuda_stream(stream);
  if (args.rows == 0) return {};
  if (args.rows > kStreamRows) return normed_product(args, at(args.bias), at(args.qkv), DType::f32, on);
  StreamLinear product = product_of(args, Finish::store);
  TDL_TRY(set_normed(args, &product, on));
  product.out = args.qkv;
  return stream_linear(product, on);
}

Status linear_residual(const LinearResidualArgs& args, Stream& stream) {
  CudaStream& on = cuda_stream(stream);
  if (args.rows == 0) return {};
  if (args.rows > kStreamRows)
    return products(on.device()).run({args.weight, at(args.x), at(args.bias), at(args.hidden), DType::f32, true, args.rows}, on);
  StreamLinear product = product_of(args, Finish::residual);
  product.x = args.x;
  product.out = args.hidden;
  return stream_linear(product, on);
}

Status gate_up(const GateUpArgs& args, Stream& stream) {
  CudaStream& on = cuda_stream(stream);
  if (args.weight.out % 2 != 0) return fail(Code::internal, "gate_up has %u rows, an odd number", args.weight.out);
  if (args.rows == 0) return {};
  if (args.rows > kStreamRows) {
    TDL_TRY(normed_product(args, nullptr, at(args.gate_up), args.weight.dtype, on));
    return silu_mul({at(args.header), at(args.gate_up), at(args.bias), at(args.out), args.weight.dtype, args.out_dtype, args.rows, args.weight.out / 2}, on);
  }
  StreamLinear product = product_of(args, Finish::silu_mul);
  TDL_TRY(set_normed(args, &product, on));
  product.out = args.out;
  product.out_dtype = args.out_dtype;
  return stream_linear(product, on);
}

}  // namespace tdl::cuda
