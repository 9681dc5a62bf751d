// What the CUDA runtime answers, as a Status.
#pragma once
#include <cuda_runtime_api.h>

#include "kernels/core/status.h"

namespace tdl::cuda {

// ok for cudaSuccess; else `doing` and CUDA's own words, with the code as native_code.  An error that leaves the context unusable is
// device_lost, no memory out_of_memory, anything else device.  The thread's last error is cleared.
Status check(cudaError_t error, const char* doing) noexcept;

}  // namespace tdl::cuda
