#include "runtime/load/tensor_header.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/load/json.h"
#include "runtime/load/utf8.h"

namespace tdl {
namespace {

unsigned long long print(uint64_t value) { return value; }

// Every type that the format has.  Those that are not ours are measured, so that the rest of the file can be checked and used.
struct StoredType {
  std::string_view name;
  uint32_t bits;
  bool supported;
  DType dtype;
};
constexpr StoredType kStoredTypes[] = {
    {"F32", 32, true, DType::f32},          {"F16", 16, true, DType::f16},
    {"BF16", 16, true, DType::bf16},        {"F64", 64, false, DType::f32},
    {"BOOL", 8, false, DType::f32},         {"U8", 8, false, DType::f32},
    {"I8", 8, false, DType::f32},           {"U16", 16, false, DType::f32},
    {"I16", 16, false, DType::f32},         {"U32", 32, false, DType::f32},
    {"I32", 32, false, DType::f32},         {"U64", 64, false, DType::f32},
    {"I64", 64, false, DType::f32},         {"C64", 64, false, DType::f32},
    {"F8_E4M3", 8, false, DType::f32},      {"F8_E5M2", 8, false, DType::f32},
    {"F8_E4M3FNUZ", 8, false, DType::f32},  {"F8_E5M2FNUZ", 8, false, DType::f32},
    {"F8_E8M0", 8, false, DType::f32},      {"F6_E2M3", 6, false, DType::f32},
    {"F6_E3M2", 6, false, DType::f32},      {"F4", 4, false, DType::f32},
};

struct Span {
  uint64_t begin, end;  // in the data section
  size_t tensor;
};

// One file's header, member by member.
class HeaderReader {
 public:
  HeaderReader(std::string_view file_name, uint32_t index, uint64_t data_start, uint64_t data_bytes,
               std::vector<TensorInfo>* tensors)
      : file_(quoted(file_name)), index_(index), data_start_(data_start), data_bytes_(data_bytes), tensors_(*tensors) {}

  Status read(JsonValue header) {
    if (!header.is(JsonKind::object)) return fail(Code::format, "%s: the header is not an object", file_.c_str());
    for (uint32_t i = 0; i < header.size(); ++i) {
      if (header.key(i) == "__metadata__") TDL_TRY(check_metadata(header[i]));
      else TDL_TRY(add(header.key(i), header[i]));
    }
    return check_coverage();
  }

 private:
  Status wrong(std::string_view tensor, const char* what) const {
    return fail(Code::format, "%s: tensor %s: %s", file_.c_str(), quoted(tensor).c_str(), what);
  }

  Status check_metadata(JsonValue metadata) const {
    bool strings = metadata.is(JsonKind::object);
    for (uint32_t i = 0; i < metadata.size(); ++i) strings = strings && metadata[i].is(JsonKind::string);
    return strings ? Status() : fail(Code::format, "%s: __metadata__ is not a map of strings", file_.c_str());
  }

  Status add(std::string_view name, JsonValue entry) {
    if (name.find('\0') != std::string_view::npos) return wrong(name, "the name holds NUL");
    if (!entry.is(JsonKind::object)) return wrong(name, "not an object");
    TensorInfo tensor;
    tensor.name = name;
    tensor.file = index_;
    const JsonValue dtype = entry.find("dtype");
    if (!dtype.is(JsonKind::string)) return wrong(name, "no dtype");
    const auto* type = std::find_if(std::begin(kStoredTypes), std::end(kStoredTypes),
                                    [&](const StoredType& known) { return known.name == dtype.text(); });
    if (type == std::end(kStoredTypes)) return wrong(name, ("unknown dtype " + quoted(dtype.text())).c_str());
    tensor.dtype = type->dtype;
    tensor.supported = type->supported;
    tensor.stored_dtype = type->name;

    const JsonValue shape = entry.find("shape");
    if (!shape.is(JsonKind::array)) return wrong(name, "no shape");
    // Zeros are left out of the product at first: whoever multiplies the other sizes must not overflow either.
    uint64_t bits = type->bits;
    bool empty = false;
    for (uint32_t i = 0; i < shape.size(); ++i) {
      if (!shape[i].is(JsonKind::natural)) return wrong(name, "the shape is not of non-negative integers");
      const uint64_t size = shape[i].natural();
      tensor.shape.push_back(size);
      if (size == 0) empty = true;
      else if (__builtin_mul_overflow(bits, size, &bits)) return wrong(name, "the shape is too large");
    }
    if (empty) bits = 0;
    if (bits % 8 != 0) return wrong(name, "the elements do not fill whole bytes");
    tensor.bytes = bits / 8;

    const JsonValue offsets = entry.find("data_offsets");
    if (!offsets.is(JsonKind::array) || offsets.size() != 2 || !offsets[0].is(JsonKind::natural) ||
        !offsets[1].is(JsonKind::natural))
      return wrong(name, "data_offsets is not two non-negative integers");
    const Span span = {offsets[0].natural(), offsets[1].natural(), tensors_.size()};
    if (span.begin > span.end || span.end > data_bytes_)
      return fail(Code::format, "%s: tensor %s: data_offsets [%llu, %llu] do not lie in the %llu bytes of data", file_.c_str(),
                  quoted(name).c_str(), print(span.begin), print(span.end), print(data_bytes_));
    if (span.end - span.begin != tensor.bytes)
      return fail(Code::format, "%s: tensor %s: data_offsets span %llu bytes, but its shape and dtype need %llu", file_.c_str(),
                  quoted(name).c_str(), print(span.end - span.begin), print(tensor.bytes));
    tensor.offset = data_start_ + span.begin;
    tensors_.push_back(std::move(tensor));
    spans_.push_back(span);
    return {};
  }

  Status check_coverage() {
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    uint64_t covered = 0;
    for (const Span& span : spans_) {
      if (span.begin != covered)
        return fail(Code::format, "%s: tensor %s: its data begins at %llu, %s %llu", file_.c_str(),
                    quoted(tensors_[span.tensor].name).c_str(), print(span.begin),
                    span.begin < covered ? "inside another's, which ends at" : "after a gap from", print(covered));
      covered = span.end;
    }
    if (covered != data_bytes_)
      return fail(Code::format, "%s: %llu bytes of data after those of the last tensor", file_.c_str(),
                  print(data_bytes_ - covered));
    return {};
  }

  std::string file_;
  uint32_t index_;
  uint64_t data_start_, data_bytes_;
  std::vector<TensorInfo>& tensors_;
  std::vector<Span> spans_;
};

}  // namespace

Status read_tensor_header(const SourceFile& file, std::string_view file_name, uint32_t index, std::vector<TensorInfo>* tensors) {
  unsigned char length[8];
  if (file.bytes() < sizeof length) return fail(Code::format, "%s: too short for a safetensors file", quoted(file_name).c_str());
  TDL_TRY(file.read(0, length, sizeof length));
  uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i) bytes = bytes << 8 | length[i];
  if (bytes > kMostHeaderBytes || bytes > file.bytes() - sizeof length)
    return fail(Code::format, "%s: a header of %llu bytes does not fit the file's %llu, or is above the limit of %llu",
                quoted(file_name).c_str(), print(bytes), print(file.bytes()), print(kMostHeaderBytes));
  std::string text(bytes, '\0');
  TDL_TRY(file.read(sizeof length, text.data(), bytes));
  if (text.empty() || text[0] != '{')
    return fail(Code::format, "%s: the header does not begin with '{'", quoted(file_name).c_str());
  TDL_ASSIGN(const JsonDocument header, JsonDocument::parse(text, file_name));
  std::string().swap(text);  // it can be large, and what follows can be too
  const uint64_t data_start = sizeof length + bytes;
  return HeaderReader(file_name, index, data_start, file.bytes() - data_start, tensors).read(header.root());
}

}  // namespace tdl
