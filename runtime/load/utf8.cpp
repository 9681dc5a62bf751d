#include "runtime/load/utf8.h"

#include <cstddef>
#include <cstdint>

namespace tdl {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

// Bytes of the well-formed character at the start of `text`, which is not empty; 0 when there is none.
size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if (!is_continuation(text[i])) return 0;
  // The second byte tells overlong forms, surrogates and values above U+10FFFF (Unicode, table 3-7).
  const auto second = static_cast<unsigned char>(text[1]);
  if (lead == 0xE0 && second < 0xA0) return 0;
  if (lead == 0xED && second > 0x9F) return 0;
  if (lead == 0xF0 && second < 0x90) return 0;
  if (lead == 0xF4 && second > 0x8F) return 0;
  return bytes;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string quoted(std::string_view text) {
  constexpr size_t kMost = 100;
  const bool cut = text.size() > kMost;
  std::string out = "'";
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (cut && out.size() + bytes > kMost) break;
    const auto lead = static_cast<unsigned char>(text[0]);
    if (bytes == 0 || lead < 0x20 || lead == 0x7F) out += '?';
    else out += text.substr(0, bytes);
    text.remove_prefix(bytes ? bytes : 1);
  }
  out += cut ? "...'" : "'";
  return out;
}

}  // namespace tdl
