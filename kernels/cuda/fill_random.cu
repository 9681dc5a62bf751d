// fill_random: weights that are a hash of their place.
#include "kernels/core/random.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

constexpr uint32_t kThreads = 256, kBlocks = 4096;

__global__ void __launch_bounds__(kThreads) fill_random_kernel(const FillRandomArgs args) {
  wait_for_predecessors();
  let_successor_start();
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x; i < args.count; i += static_cast<uint64_t>(kBlocks) * kThreads) {
    const float value = args.ones ? 1.0f : random_weight(args.seed, i);
    if (args.dtype == DType::f32) static_cast<float*>(at(args.data))[i] = value;
    else if (args.dtype == DType::bf16) static_cast<uint16_t*>(at(args.data))[i] = f32_to_bf16(value);
    else static_cast<uint16_t*>(at(args.data))[i] = args.ones ? uint16_t{0x3C00} : small_f32_to_f16(value);
  }
}

}  // namespace

Status fill_random(const FillRandomArgs& args, Stream& stream) {
  if (args.count == 0) return {};
  return launch(cuda_stream(stream), "fill_random", fill_random_kernel, Shape{dim3(kBlocks), dim3(kThreads)}, args);
}

Status prepare_fill_random() { return touch("fill_random", fill_random_kernel); }

}  // namespace tdl::cuda
