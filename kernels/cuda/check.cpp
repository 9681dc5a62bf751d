#include "kernels/cuda/check.h"

namespace tdl::cuda {
namespace {

Code code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return Code::out_of_memory;
    // After these the context answers every call with the same error.
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorCudartUnloading:
      return Code::device_lost;
    default:
      return Code::device;
  }
}

}  // namespace

Status check(cudaError_t error, const char* doing) noexcept {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return fail(code_of(error), "%s: %s", doing, cudaGetErrorString(error)).native(static_cast<int32_t>(error));
}

}  // namespace tdl::cuda
