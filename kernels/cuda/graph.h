// A captured graph, instantiated and uploaded.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/device.h"

namespace tdl::cuda {

class CudaDevice;

class CudaGraph final : public Graph {
 public:
  // Takes what a capture left; `recorded` is destroyed either way.
  static Result<std::unique_ptr<Graph>> make(CudaDevice& device, cudaGraph_t recorded, cudaStream_t stream);
  CudaGraph(CudaDevice& device, cudaGraphExec_t native, uint64_t bytes) : device_(device), native_(native), bytes_(bytes) {}
  ~CudaGraph() override;

  uint64_t bytes() const override { return bytes_; }
  cudaGraphExec_t native() const { return native_; }

 private:
  CudaDevice& device_;
  cudaGraphExec_t native_;
  uint64_t bytes_;
};

}  // namespace tdl::cuda
