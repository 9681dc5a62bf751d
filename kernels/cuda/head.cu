// head: final norm and logits of the rows that want them.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/stream_linear.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

constexpr uint32_t kThreads = 256;

// Behind a product by cuBLASLt: zeros for padding, and the status of rows that are not finite.
__global__ void __launch_bounds__(kThreads) check_logits_kernel(const HeadArgs args) {
  wait_for_predecessors();
  let_successor_start();
  const uint32_t output = blockIdx.x, vocab = args.weight.out;
  float* logits = at(args.logits) + static_cast<uint64_t>(output) * vocab;
  const bool padding = at(args.output_row)[output] < 0;
  bool finite = true;
  for (uint32_t i = blockIdx.y * kThreads + threadIdx.x; i < vocab; i += gridDim.y * kThreads) {
    if (padding) logits[i] = 0;
    else finite = finite && (__float_as_uint(logits[i]) & 0x7F800000u) != 0x7F800000u;
  }
  if (!finite) at(args.row_status)[output] = static_cast<int32_t>(Code::numeric);  // whoever writes here writes this
}

}  // namespace

Status head(const HeadArgs& args, Stream& stream) {
  CudaStream& on = cuda_stream(stream);
  if (args.outputs == 0) return {};
  TDL_TRY(norm_rows({nullptr, at(args.hidden), at(args.norm), at(args.output_row), at(args.normed), at(args.hidden_out), at(args.row_status), args.weight.dtype, args.eps,
                     args.outputs, args.weight.in}, on));
  if (args.outputs <= kStreamRows) {
    StreamLinear product{};
    product.weight = args.weight;
    product.x = args.normed;
    product.out = args.logits;
    product.output_row = args.output_row;
    product.row_status = args.row_status;
    product.rows = args.outputs;
    product.finish = Finish::logits;
    return stream_linear(product, on);
  }
  TDL_TRY(products(on.device()).run({args.weight, at(args.normed), nullptr, at(args.logits), DType::f32, false, args.outputs}, on));
  return launch(on, "check_logits", check_logits_kernel, Shape{dim3(args.outputs, 8), dim3(kThreads)}, args);
}

Status prepare_head() { return touch("check_logits", check_logits_kernel); }

}  // namespace tdl::cuda
