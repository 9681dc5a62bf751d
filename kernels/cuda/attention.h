// attention on a GPU.
#pragma once
#include "kernels/cuda/stream.h"
#include "kernels/stages.h"

namespace tdl::cuda {

Status attention(const AttentionArgs& args, Stream& stream);
// Loads the kernels; once per device, in its context.
Status prepare_attention();

}  // namespace tdl::cuda
