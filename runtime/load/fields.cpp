#include "runtime/load/fields.h"

#include "runtime/load/utf8.h"

namespace tdl {

Fields::Fields(std::string_view file, JsonValue object, std::string_view path) : file_(file), path_(path), object_(object) {}

std::string Fields::name(const char* key) const {
  return quoted(file_) + ": field " + quoted(path_.empty() ? key : path_ + '.' + key);
}

Status Fields::wrong(const char* key, const char* what, Code code) const { return fail(code, "%s %s", name(key).c_str(), what); }

Status Fields::convert(const char* key, JsonValue value, uint32_t* out) const {
  if (value.is(JsonKind::absent)) return wrong(key, "is missing");
  if (!value.is(JsonKind::natural) || value.natural() > UINT32_MAX) return wrong(key, "must be an integer from 0 to 4294967295");
  *out = static_cast<uint32_t>(value.natural());
  return {};
}

Status Fields::convert(const char* key, JsonValue value, double* out) const {
  if (value.is(JsonKind::absent)) return wrong(key, "is missing");
  if (!value.is(JsonKind::natural) && !value.is(JsonKind::negative) && !value.is(JsonKind::real))
    return wrong(key, "must be a number");
  *out = value.number();
  return {};
}

Status Fields::convert(const char* key, JsonValue value, bool* out) const {
  if (value.is(JsonKind::absent)) return wrong(key, "is missing");
  if (!value.is(JsonKind::boolean)) return wrong(key, "must be true or false");
  *out = value.boolean();
  return {};
}

Status Fields::convert(const char* key, JsonValue value, std::string* out) const {
  if (value.is(JsonKind::absent)) return wrong(key, "is missing");
  if (!value.is(JsonKind::string)) return wrong(key, "must be a string");
  *out = value.text();
  return {};
}

}  // namespace tdl
