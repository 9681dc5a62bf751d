#include "runtime/load/safetensors.h"

#include <algorithm>
#include <utility>

#include "runtime/load/json.h"
#include "runtime/load/tensor_header.h"
#include "runtime/load/utf8.h"

namespace tdl {
namespace {

constexpr uint32_t kMostShards = 1024;  // each keeps a file open

unsigned long long print(uint64_t value) { return value; }

std::string print(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size() && i < 8; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() > 8 ? ", ...]" : "]");
}

bool by_name(const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; }

// The shards that weight_map names, each once, sorted.
Result<std::vector<std::string>> shard_names(const std::string& index, JsonValue weight_map) {
  if (!weight_map.is(JsonKind::object) || weight_map.size() == 0)
    return fail(Code::format, "%s: no weight_map", quoted(index).c_str());
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < weight_map.size(); ++i) {
    if (!weight_map[i].is(JsonKind::string))
      return fail(Code::format, "%s: tensor %s: the shard is not a string", quoted(index).c_str(),
                  quoted(weight_map.key(i)).c_str());
    names.push_back(weight_map[i].text());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > kMostShards)
    return fail(Code::unsupported, "%s: %zu shards, at most %u are read", quoted(index).c_str(), names.size(), kMostShards);
  return std::vector<std::string>(names.begin(), names.end());
}

// Every tensor lies in the shard that weight_map names for it, and every name in weight_map is a tensor.  `tensors` is sorted by
// name, as weight_map is.
Status check_weight_map(const std::string& index, JsonValue weight_map, const std::vector<std::string>& shards,
                        const std::vector<TensorInfo>& tensors) {
  uint32_t entry = 0;
  for (const TensorInfo& tensor : tensors) {
    if (entry < weight_map.size() && weight_map.key(entry) < tensor.name) break;  // no tensor for this entry
    if (entry == weight_map.size() || weight_map.key(entry) != tensor.name || weight_map[entry].text() != shards[tensor.file])
      return fail(Code::format, "%s: tensor %s is in shard %s, where weight_map does not have it", quoted(index).c_str(),
                  quoted(tensor.name).c_str(), quoted(shards[tensor.file]).c_str());
    ++entry;
  }
  if (entry == weight_map.size()) return {};
  return fail(Code::format, "%s: tensor %s is not in its shard %s", quoted(index).c_str(), quoted(weight_map.key(entry)).c_str(),
              quoted(weight_map[entry].text()).c_str());
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const Source& source, std::string_view stem) {
  Checkpoint checkpoint;
  const std::string single = std::string(stem) + ".safetensors", index = single + ".index.json";
  Result<SourceFile> file = source.open(single);
  if (file.ok()) {
    checkpoint.files_.push_back(std::move(file).value());
    checkpoint.file_names_.push_back(single);
    TDL_TRY(read_tensor_header(checkpoint.files_[0], single, 0, &checkpoint.tensors_));
    return checkpoint;
  }
  if (file.status().code() != Code::not_found) return file.status();

  Result<std::string> text = source.read_text(index, kMostHeaderBytes);
  if (!text.ok() && text.status().code() == Code::not_found)
    return fail(Code::not_found, "neither %s nor %s in the source", quoted(single).c_str(), quoted(index).c_str());
  if (!text.ok()) return text.status();
  TDL_ASSIGN(const JsonDocument document, JsonDocument::parse(*text, index));
  const JsonValue weight_map = document.root().find("weight_map");
  TDL_ASSIGN(checkpoint.file_names_, shard_names(index, weight_map));
  for (uint32_t i = 0; i < checkpoint.file_names_.size(); ++i) {
    const std::string& name = checkpoint.file_names_[i];
    Result<SourceFile> shard = source.open(name);
    if (!shard.ok()) {  // a name that leads out of the directory is the index's fault, not the caller's
      const Code code = shard.status().code() == Code::invalid_argument ? Code::format : shard.status().code();
      return fail(code, "%s: shard: %s", quoted(index).c_str(), shard.status().message()).native(shard.status().native_code());
    }
    checkpoint.files_.push_back(std::move(shard).value());
    TDL_TRY(read_tensor_header(checkpoint.files_[i], name, i, &checkpoint.tensors_));
  }
  std::sort(checkpoint.tensors_.begin(), checkpoint.tensors_.end(), by_name);
  TDL_TRY(check_weight_map(index, weight_map, checkpoint.file_names_, checkpoint.tensors_));
  return checkpoint;
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const TensorInfo& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

Result<const TensorInfo*> Checkpoint::take(std::string_view name, const std::vector<uint64_t>& shape) {
  const TensorInfo* found = find(name);
  if (!found) return fail(Code::not_found, "the checkpoint has no tensor %s", quoted(name).c_str());
  if (!found->supported)
    return fail(Code::unsupported, "tensor %s: dtype %s is not supported", quoted(name).c_str(), found->stored_dtype.c_str());
  if (found->shape != shape)
    return fail(Code::format, "tensor %s has shape %s, not %s", quoted(name).c_str(), print(found->shape).c_str(),
                print(shape).c_str());
  TensorInfo& tensor = tensors_[static_cast<size_t>(found - tensors_.data())];
  if (tensor.taken) return fail(Code::format, "tensor %s is used twice", quoted(name).c_str());
  tensor.taken = true;
  return found;
}

Status Checkpoint::check_all_taken(bool (*ignored)(std::string_view name)) const {
  for (const TensorInfo& tensor : tensors_)
    if (!tensor.taken && !(ignored && ignored(tensor.name)))
      return fail(Code::format, "%s: the model has no use for tensor %s", quoted(file_names_[tensor.file]).c_str(),
                  quoted(tensor.name).c_str());
  return {};
}

Status Checkpoint::read(const TensorInfo& tensor, uint64_t offset, void* destination, uint64_t bytes) const {
  if (tensor.file >= files_.size() || offset > tensor.bytes || bytes > tensor.bytes - offset)
    return fail(Code::range, "tensor %s: read of %llu bytes at %llu, past its end at %llu", quoted(tensor.name).c_str(),
                print(bytes), print(offset), print(tensor.bytes));
  return files_[tensor.file].read(tensor.offset + offset, destination, bytes);
}

Result<bool> Checkpoint::equal(const TensorInfo& a, const TensorInfo& b) const {
  if (a.stored_dtype != b.stored_dtype || a.shape != b.shape) return false;
  constexpr uint64_t kChunk = 1u << 20;
  std::vector<std::byte> left(std::min(kChunk, a.bytes)), right(left.size());
  for (uint64_t at = 0; at < a.bytes; at += kChunk) {
    const uint64_t bytes = std::min(kChunk, a.bytes - at);
    TDL_TRY(read(a, at, left.data(), bytes));
    TDL_TRY(read(b, at, right.data(), bytes));
    if (!std::equal(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(bytes), right.begin())) return false;
  }
  return true;
}

}  // namespace tdl
