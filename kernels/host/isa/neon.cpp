// The inner loops for NEON (every 64-bit Arm).
#include "kernels/host/isa/inner_loops.h"

namespace tdl::host {

const InnerLoops kNeonLoops = loops_named("neon");

}  // namespace tdl::host
