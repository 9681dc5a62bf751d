// The inner loops for AVX-512 (F, BW, CD, DQ, VL: Skylake-SP, Zen 4 and later).
#include "kernels/host/isa/inner_loops.h"

namespace tdl::host {

const InnerLoops kAvx512Loops = loops_named("avx512");

}  // namespace tdl::host
