// Safetensors checkpoints: one file, or shards named by an index.  Nothing of a file is believed before it was checked.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/dtype.h"
#include "kernels/core/status.h"
#include "runtime/load/source.h"

namespace tdl {

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;     // f32, bf16 or f16; a tensor of another type is kept with supported = false and refused when taken
  bool supported = true;
  std::string stored_dtype;     // as the file calls it
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;           // product of the shape x element size, checked
  uint32_t file = 0;            // index of the shard
  uint64_t offset = 0;          // of the data, in the shard
  bool taken = false;
};

class Checkpoint {
 public:
  // model.safetensors, or model.safetensors.index.json and its shards; `stem` is "model" (or "adapter_model" for adapters).
  // Where both are there the single file is read and the index is not, as transformers does.  not_found without either, or when a
  // shard is missing; format for anything that DESIGN's loading rules refuse, naming the file and the tensor or offset; unsupported
  // for more than 1024 shards; io.
  static Result<Checkpoint> open(const Source& source, std::string_view stem);

  const TensorInfo* find(std::string_view name) const;  // null when there is none
  // Finds the tensor, checks its shape and marks it taken: not_found when missing, format when the shape differs or it was taken
  // before, unsupported when its type is none of ours.
  Result<const TensorInfo*> take(std::string_view name, const std::vector<uint64_t>& shape);
  // format, naming one of them, when tensors are left that nobody took and `ignored` does not match.
  Status check_all_taken(bool (*ignored)(std::string_view name)) const;
  // Part of a tensor's bytes, from `offset` within it; range when it does not lie in the tensor, io.
  Status read(const TensorInfo& tensor, uint64_t offset, void* destination, uint64_t bytes) const;
  // True when both have the same type, shape and bytes.  Reads them whole: for an output matrix that is there although it is tied.
  Result<bool> equal(const TensorInfo& a, const TensorInfo& b) const;
  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // sorted by name

 private:
  std::vector<SourceFile> files_;
  std::vector<std::string> file_names_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace tdl
