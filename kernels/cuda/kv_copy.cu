// kv_copy: whole KV blocks, in every layer.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

constexpr uint32_t kThreads = 256;

// The copies are made in their order: a later one may read what an earlier one wrote, at the same place of a block, so by this thread.
__global__ void __launch_bounds__(kThreads) kv_copy_kernel(const KvCopyArgs args) {
  wait_for_predecessors();
  let_successor_start();
  const uint64_t place = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x, words = args.block_bytes / sizeof(uint4);
  if (place >= words) return;
  auto* blocks = reinterpret_cast<uint4*>(static_cast<unsigned char*>(at(args.data)) + blockIdx.y * args.layer_bytes) + place;
  for (uint32_t i = 0; i < args.count; ++i)
    if (args.from[i] != args.to[i]) blocks[static_cast<uint64_t>(args.to[i]) * words] = blocks[static_cast<uint64_t>(args.from[i]) * words];
}

}  // namespace

Status kv_copy(const KvCopyArgs& args, Stream& stream) {
  if (args.count > KvCopyArgs::kMost) return fail(Code::internal, "%u KV blocks to copy, at most %u", args.count, KvCopyArgs::kMost);
  if (args.block_bytes % sizeof(uint4) != 0) return fail(Code::internal, "KV blocks of %llu bytes", static_cast<unsigned long long>(args.block_bytes));
  if (args.count == 0) return {};
  const uint64_t words = args.block_bytes / sizeof(uint4);
  return launch(cuda_stream(stream), "kv_copy", kv_copy_kernel,
                Shape{dim3(static_cast<uint32_t>((words + kThreads - 1) / kThreads), args.layers), dim3(kThreads)}, args);
}

Status prepare_kv_copy() { return touch("kv_copy", kv_copy_kernel); }

}  // namespace tdl::cuda
