#include "kernels/cuda/stream.h"

#include "kernels/cuda/device.h"

namespace tdl::cuda {

CudaStream::~CudaStream() {
  const Current current = device_.enter();
  // What is enqueued reads memory that goes after this; a stream of the host's is waited for all the same, and nothing else is.
  cudaStreamSynchronize(native_);
  if (owned_) cudaStreamDestroy(native_);
  cudaGetLastError();
}

}  // namespace tdl::cuda
