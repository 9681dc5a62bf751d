// The inner loops for AVX2 with FMA and F16C (Haswell, Zen and later).
#include "kernels/host/isa/inner_loops.h"

namespace tdl::host {

const InnerLoops kAvx2Loops = loops_named("avx2");

}  // namespace tdl::host
