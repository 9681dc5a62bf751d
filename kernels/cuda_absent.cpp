// The door to CUDA in a build without it.
#include "kernels/device.h"

namespace tdl {

Result<std::unique_ptr<Device>> cuda_device(uint32_t, void*) { return fail(Code::unsupported, "this build has no CUDA"); }

}  // namespace tdl
