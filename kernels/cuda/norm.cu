#include "kernels/cuda/norm.h"

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"

namespace tdl::cuda {
namespace {

constexpr uint32_t kThreads = 256, kWarps = kThreads / 32;

template <class T>
__global__ void __launch_bounds__(kThreads) norm_kernel(const NormRows a) {
  __shared__ float of_warp[kWarps];
  wait_for_predecessors();
  let_successor_start();
  const uint32_t row = blockIdx.x;
  if (a.header && row >= a.header->num_rows) return;
  if (a.row_status && threadIdx.x == 0) a.row_status[row] = 0;
  const int64_t source = a.row_of ? a.row_of[row] : static_cast<int64_t>(row);
  T* out = static_cast<T*>(a.out) + static_cast<uint64_t>(row) * a.in;
  float* wide = a.out_f32 ? a.out_f32 + static_cast<uint64_t>(row) * a.in : nullptr;
  const float* x = a.hidden + source * a.in;
  float scale = 0;
  if (source >= 0) {
    float squares = 0;
    for (uint32_t i = threadIdx.x; i < a.in; i += kThreads) squares += x[i] * x[i];
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = squares;
    __syncthreads();
    float all = 0;
#pragma unroll
    for (uint32_t w = 0; w < kWarps; ++w) all += of_warp[w];
    scale = rsqrtf(all / static_cast<float>(a.in) + a.eps);
  }
  for (uint32_t i = threadIdx.x; i < a.in; i += kThreads) {
    const float value = source >= 0 ? x[i] * scale * a.norm[i] : 0.0f;
    out[i] = from_float<T>(value);
    if (wide) wide[i] = value;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) silu_mul_kernel(const SiluMul a) {
  wait_for_predecessors();
  let_successor_start();
  const uint32_t row = blockIdx.x, i = blockIdx.y * kThreads + threadIdx.x;
  if (row >= a.header->num_rows || i >= a.inner) return;
  const T* product = static_cast<const T*>(a.gate_up) + static_cast<uint64_t>(row) * 2 * a.inner;
  float gate = to_float(product[i]), up = to_float(product[a.inner + i]);
  if (a.bias) {
    gate += a.bias[i];
    up += a.bias[a.inner + i];
  }
  const float value = gate / (1.0f + __expf(-gate)) * up;
  const uint64_t at = static_cast<uint64_t>(row) * a.inner + i;
  if (a.out_dtype == DType::f16) static_cast<__half*>(a.out)[at] = from_float<__half>(value);
  else static_cast<__nv_bfloat16*>(a.out)[at] = from_float<__nv_bfloat16>(value);
}

}  // namespace

Status norm_rows(const NormRows& a, CudaStream& stream) {
  if (a.rows == 0) return {};
  return launch(stream, "norm", a.dtype == DType::f16 ? norm_kernel<__half> : norm_kernel<__nv_bfloat16>, Shape{dim3(a.rows), dim3(kThreads)}, a);
}

Status silu_mul(const SiluMul& a, CudaStream& stream) {
  if (a.rows == 0) return {};
  const Shape shape{dim3(a.rows, (a.inner + kThreads - 1) / kThreads), dim3(kThreads)};
  return launch(stream, "silu_mul", a.dtype == DType::f16 ? silu_mul_kernel<__half> : silu_mul_kernel<__nv_bfloat16>, shape, a);
}

Status prepare_norm() {
  TDL_TRY(touch("norm", norm_kernel<__half>));
  TDL_TRY(touch("norm", norm_kernel<__nv_bfloat16>));
  TDL_TRY(touch("silu_mul", silu_mul_kernel<__half>));
  return touch("silu_mul", silu_mul_kernel<__nv_bfloat16>);
}

}  // namespace tdl::cuda
