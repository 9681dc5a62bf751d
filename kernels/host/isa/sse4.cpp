// The inner loops for SSE4.2 with AES and PCLMUL, which Highway counts to it (Westmere and later).
#include "kernels/host/isa/inner_loops.h"

namespace tdl::host {

const InnerLoops kSse4Loops = loops_named("sse4");

}  // namespace tdl::host
