// The two ceilings of a GPU, measured in the run that uses them.
#pragma once

namespace tdl::bench {

struct GpuRates {
  double read;    // bytes per second of a streaming read of device memory
  double matmul;  // floating-point operations per second of cuBLASLt in bf16, 4096 rows by 24576 x 4096
};

// Zeros when there is no GPU that can be used.
GpuRates gpu_rates();

}  // namespace tdl::bench
