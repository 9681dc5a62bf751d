// The stages of the host device.  Each function below runs one stage to its end, on the leader's thread and the pool's; eager
// passes and graphs call the same ones.  They are the plain definition of what stages.h says.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/host/op.h"
#include "kernels/host/pool.h"
#include "kernels/stages.h"

namespace tdl::host {

void embed(const EmbedArgs& args, Pool& pool);                      // embed.cpp
void qkv(const QkvArgs& args, Pool& pool);                          // linear.cpp
void linear_residual(const LinearResidualArgs& args, Pool& pool);   // linear.cpp
void gate_up(const GateUpArgs& args, Pool& pool);                   // linear.cpp
void rope_kv(const RopeKvArgs& args, Pool& pool);                   // rope_kv.cpp
void attention(const AttentionArgs& args, Pool& pool);              // attention.cpp
void head(const HeadArgs& args, Pool& pool);                        // head.cpp
void sample(const SampleArgs& args, Pool& pool);                    // sample.cpp
void kv_copy(const KvCopyArgs& args, Pool& pool);                   // kv_copy.cpp
void fill_random(const FillRandomArgs& args, Pool& pool);           // fill_random.cpp

inline constexpr uint32_t kMostHeadDim = 512;  // attention keeps a head's sums on the stack

// The rows of a launch that are not padding.
inline uint32_t live_rows(DevicePtr<const PassHeader> header, uint32_t rows) { return std::min(rows, at(header)->num_rows); }

// The table that puts them on streams.
StageTable stage_table();

}  // namespace tdl::host
