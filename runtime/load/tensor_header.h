// The header of one safetensors file: 8 bytes of length, then JSON that says each tensor's type, shape and place.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/load/safetensors.h"
#include "runtime/load/source.h"

namespace tdl {

// Appends the tensors of `file`, which messages call `file_name`, to `tensors`, with TensorInfo::file = `index`, in the order of
// their names.  io when the file cannot be read; format, naming the tensor, unless all of this holds:
//   - the header lies in the file, is at most kMostHeaderBytes long and is one JSON object, without duplicate keys, that begins
//     with '{' at its first byte
//   - every tensor has a dtype that safetensors knows, a shape of non-negative integers and two data_offsets; __metadata__, if it
//     is there, holds strings only
//   - shape x element size does not overflow and is what data_offsets span
//   - the spans cover the data section exactly: no overlap, no gap, nothing after the last
Status read_tensor_header(const SourceFile& file, std::string_view file_name, uint32_t index, std::vector<TensorInfo>* tensors);

inline constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit

}  // namespace tdl
