// Typed reading of one JSON object's fields.  Every error is a format error that names the file and the field.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/status.h"
#include "runtime/load/json.h"

namespace tdl {

class Fields {
 public:
  // The object's document must outlive the reader; an object that is absent has no fields.  `path` stands before the fields' names.
  Fields(std::string_view file, JsonValue object, std::string_view path = {});

  const std::string& file() const { return file_; }
  JsonValue find(const char* key) const { return object_.find(key); }
  bool has(const char* key) const { return !find(key).absent_or_null(); }

  // The field must be there.  An integer is one in JSON: no fraction, no exponent, no sign, below 2^32.  A double is any number.
  template <class T>
  Status require(const char* key, T* out) const {
    return convert(key, find(key), out);
  }
  // Absent and null leave *out as it is.
  template <class T>
  Status optional(const char* key, T* out) const {
    return has(key) ? convert(key, find(key), out) : Status();
  }

  // "'config.json': field 'rope_scaling.factor'", for messages.
  std::string name(const char* key) const;
  // "<name(key)> <what>"
  Status wrong(const char* key, const char* what, Code code = Code::format) const;

 private:
  Status convert(const char* key, JsonValue value, uint32_t* out) const;
  Status convert(const char* key, JsonValue value, double* out) const;
  Status convert(const char* key, JsonValue value, bool* out) const;
  Status convert(const char* key, JsonValue value, std::string* out) const;

  std::string file_, path_;
  JsonValue object_;
};

}  // namespace tdl
