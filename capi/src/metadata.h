// tdl_metadata to and from the runtime's PODs.
#pragma once
#include "kernels/core/status.h"
#include "runtime/pass.h"
#include "runtime/step/upload.h"
#include "treadle/pass.h"

namespace tdl::abi {

// The upload that a caller's metadata amounts to; unsupported, naming the field, for what this version does not do.
Result<Upload> read_metadata(const tdl_metadata* metadata);
// Its sampling, penalty and mask fields, for `outputs` outputs, which were checked against the limits before.
Status check_sampling(const tdl_metadata* metadata, uint32_t outputs);
tdl_metadata mapped_metadata(const Upload& arrays);
tdl_metadata_view metadata_view(const MetadataView& view);

}  // namespace tdl::abi
