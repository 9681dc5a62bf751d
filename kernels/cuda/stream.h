// A CUDA stream: our own, or one that the host gave and keeps.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/device.h"

namespace tdl::cuda {

class CudaDevice;

class CudaStream final : public Stream {
 public:
  CudaStream(CudaDevice& device, cudaStream_t native, bool owned) : device_(device), native_(native), owned_(owned) {}
  ~CudaStream() override;  // waits for what was enqueued

  CudaDevice& device() const { return device_; }
  cudaStream_t native() const { return native_; }

 private:
  CudaDevice& device_;
  cudaStream_t native_;
  bool owned_;
};

// Every stage of this device runs on one.
inline CudaStream& cuda_stream(Stream& stream) { return static_cast<CudaStream&>(stream); }

}  // namespace tdl::cuda
