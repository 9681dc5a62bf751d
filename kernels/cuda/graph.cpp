#include "kernels/cuda/graph.h"

#include "kernels/cuda/check.h"
#include "kernels/cuda/device.h"

namespace tdl::cuda {
namespace {

// Free device memory, as a figure; what others allocate at the same time is in it.
uint64_t free_bytes() {
  size_t free = 0, total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
}

}  // namespace

Result<std::unique_ptr<Graph>> CudaGraph::make(CudaDevice& device, cudaGraph_t recorded, cudaStream_t stream) {
  const uint64_t before = free_bytes();
  size_t nodes = 0;
  cudaGraphGetNodes(recorded, nullptr, &nodes);
  cudaGraphExec_t native = nullptr;
  const Status made = check(cudaGraphInstantiate(&native, recorded, 0), "cudaGraphInstantiate");
  cudaGraphDestroy(recorded);
  TDL_TRY(made);
  auto graph = std::make_unique<CudaGraph>(device, native, 0);
  TDL_TRY(check(cudaGraphUpload(native, stream), "cudaGraphUpload"));
  TDL_TRY(check(cudaStreamSynchronize(stream), "cudaGraphUpload"));
  // The driver takes memory in large steps: below one, the figure is what a node is known to take.
  const uint64_t after = free_bytes();
  graph->bytes_ = before > after ? before - after : nodes * CudaDevice::kGraphBytesPerNode;
  return std::unique_ptr<Graph>(std::move(graph));
}

CudaGraph::~CudaGraph() {
  const Current current = device_.enter();
  cudaGraphExecDestroy(native_);
  cudaGetLastError();
}

}  // namespace tdl::cuda
