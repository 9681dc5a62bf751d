// sample: greedy, the lowest index among the largest logits.  One block for each output.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

constexpr uint32_t kThreads = 1024, kWarps = kThreads / 32;

struct Best {
  float value;
  uint32_t index;
};

__device__ __forceinline__ Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

__device__ __forceinline__ Best best_of_warp(Best best) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    best = better(best, {__shfl_xor_sync(0xFFFFFFFFu, best.value, step), __shfl_xor_sync(0xFFFFFFFFu, best.index, step)});
  return best;
}

__global__ void __launch_bounds__(kThreads) sample_kernel(const SampleArgs args) {
  __shared__ Best of_warp[kWarps];
  wait_for_predecessors();
  let_successor_start();
  const uint32_t output = blockIdx.x;
  uint32_t* token = at(args.tokens) + output;
  if (at(args.output_row)[output] < 0 || at(args.row_status)[output] != 0) {
    if (threadIdx.x == 0) *token = at(args.output_row)[output] < 0 ? kNoToken : 0;
    return;
  }
  const float* logits = at(args.logits) + static_cast<uint64_t>(output) * args.vocab_size;
  Best best{-INFINITY, UINT32_MAX};
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < args.vocab_size; i += kThreads) best = better(best, {logits[i], i});
  best = best_of_warp(best);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  best = best_of_warp(of_warp[threadIdx.x]);
  if (threadIdx.x == 0) *token = best.index;
}

}  // namespace

Status sample(const SampleArgs& args, Stream& stream) {
  if (args.outputs == 0) return {};
  return launch(cuda_stream(stream), "sample", sample_kernel, Shape{dim3(args.outputs), dim3(kThreads)}, args);
}

// Code translated from PTX for an older GPU has lost the wait, whatever GPU it runs on.
Result<bool> prepare_sample() {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, sample_kernel);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction || error == cudaErrorUnsupportedPtxVersion) {
    cudaGetLastError();
    return fail(Code::unsupported, "this build has no kernels for the GPU: %s", cudaGetErrorString(error)).native(static_cast<int32_t>(error));
  }
  TDL_TRY(check(error, "cudaFuncGetAttributes"));
  return attributes.ptxVersion >= 90 && attributes.binaryVersion >= 90;
}

}  // namespace tdl::cuda
