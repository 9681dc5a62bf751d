// The stages of the CUDA device, and loading their kernels.
#pragma once
#include "kernels/cuda/stream.h"
#include "kernels/stages.h"

namespace tdl::cuda {

Status embed(const EmbedArgs& args, Stream& stream);                      // embed.cu
Status qkv(const QkvArgs& args, Stream& stream);                          // linear.cpp
Status linear_residual(const LinearResidualArgs& args, Stream& stream);   // linear.cpp
Status gate_up(const GateUpArgs& args, Stream& stream);                   // linear.cpp
Status rope_kv(const RopeKvArgs& args, Stream& stream);                   // rope_kv.cu
Status head(const HeadArgs& args, Stream& stream);                        // head.cu
Status sample(const SampleArgs& args, Stream& stream);                    // sample.cu
Status kv_copy(const KvCopyArgs& args, Stream& stream);                   // kv_copy.cu
Status fill_random(const FillRandomArgs& args, Stream& stream);           // fill_random.cu

Status prepare_embed();
Status prepare_rope_kv();
Status prepare_head();
Result<bool> prepare_sample();  // whether the loaded image has griddepcontrol
Status prepare_kv_copy();
Status prepare_fill_random();

// The table; every entry makes the device's context current.
StageTable stage_table();

// Loads every kernel; the device's context is current.  Gives whether they have griddepcontrol.  unsupported when this build has no
// kernels for the GPU.
Result<bool> prepare_kernels(uint32_t shared_limit);

class ProductTable;
ProductTable& products(CudaDevice& device);

}  // namespace tdl::cuda
