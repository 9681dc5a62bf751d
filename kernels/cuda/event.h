// A point in a CUDA stream.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/device.h"

namespace tdl::cuda {

class CudaDevice;

class CudaEvent final : public Event {
 public:
  CudaEvent(CudaDevice& device, cudaEvent_t native) : device_(device), native_(native) {}
  ~CudaEvent() override;

  cudaEvent_t native() const { return native_; }
  Result<bool> done() const;  // true for an event never recorded
  Status wait(uint64_t timeout_ns) const;

 private:
  CudaDevice& device_;
  cudaEvent_t native_;
};

}  // namespace tdl::cuda
