#include "runtime/text/replace.h"

#include <cstdint>
#include <utility>

namespace tdl::text {

Status too_long(const char* where) {
  return fail(Code::limit, "%s: a text becomes longer than 2^31 bytes", where);
}

Status replace_all(std::string_view pattern, std::string_view content, const char* where, std::string* text) {
  uint64_t count = 0;
  for (size_t at = 0; (at = text->find(pattern, at)) != std::string::npos; at += pattern.size()) ++count;
  if (count == 0) return {};
  const uint64_t left = text->size() - count * pattern.size();
  if (left > kMaxReplacedBytes || content.size() > (kMaxReplacedBytes - left) / count) return too_long(where);
  std::string out;
  out.reserve(left + count * content.size());
  size_t at = 0;
  for (size_t found; (found = text->find(pattern, at)) != std::string::npos; at = found + pattern.size()) {
    out.append(*text, at, found - at).append(content);
  }
  *text = std::move(out.append(*text, at));
  return {};
}

}  // namespace tdl::text
