// Launching a kernel: one call for eager passes and captures, with the programmatic dependency that lets a kernel start while its
// predecessor ends.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/check.h"
#include "kernels/cuda/stream.h"

namespace tdl::cuda {

// Whether kernels were loaded from an image that has griddepcontrol (sm_90 and newer): older ones ignore the wait.
bool early_start(const CudaDevice& device);
uint32_t multiprocessors(const CudaDevice& device);
uint32_t shared_limit(const CudaDevice& device);  // bytes of shared memory that one block may take

// Where a device pointer of the kernel interface points.  Only for kernel arguments: the host must not follow it.
template <class T>
__host__ __device__ inline T* at(DevicePtr<T> pointer) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(pointer.address));
}

struct Shape {
  dim3 grid, block;
  uint32_t shared_bytes = 0;  // dynamic; above 48 KB the kernel must have been allowed it (allow_shared)
};

// Every kernel that is launched this way waits (wait_for_predecessors in element.cuh) before it touches anything that an earlier
// kernel may write, and before each of its blocks ends.
template <class... Parameters>
Status launch(CudaStream& stream, const char* name, void (*kernel)(Parameters...), const Shape& shape, std::type_identity_t<Parameters>... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream.native();
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = early_start(stream.device()) ? 1 : 0;
  return check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

// Loads a kernel: modules load lazily, which a capture does not allow and a host would notice.
template <class... Parameters>
Status touch(const char* name, void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  return check(cudaFuncGetAttributes(&attributes, kernel), name);
}

// Loads a kernel and lets it take `bytes` of dynamic shared memory.
template <class... Parameters>
Status allow_shared(const char* name, void (*kernel)(Parameters...), uint32_t bytes) {
  TDL_TRY(touch(name, kernel));
  return check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), name);
}

}  // namespace tdl::cuda
