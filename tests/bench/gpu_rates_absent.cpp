// A build without CUDA measures no GPU.
#include "tests/bench/gpu_rates.h"

namespace tdl::bench {

GpuRates gpu_rates() { return {}; }

}  // namespace tdl::bench
