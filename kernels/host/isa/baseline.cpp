// The inner loops for every machine of the architecture: no flags beyond the compiler's own.
#include "kernels/host/isa/inner_loops.h"

namespace tdl::host {

const InnerLoops kBaselineLoops = loops_named("baseline");

}  // namespace tdl::host
