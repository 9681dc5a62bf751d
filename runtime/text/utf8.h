// UTF-8 that may be malformed: text is bytes, and bytes that are no character must survive.  A malformed byte is one that does not
// start a well-formed sequence (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tdl::text {

struct Utf8Char {
  uint32_t code_point = 0;
  uint32_t length = 0;  // bytes, 1..4; 0 = the text is empty or starts with a malformed byte
};

// The character at the start of `text`.
constexpr Utf8Char first_char(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const uint32_t length = lead >= 0xC2 && lead < 0xE0 ? 2 : (lead & 0xF0) == 0xE0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return {};
  uint32_t code_point = lead & (0x7Fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = (code_point << 6) | (byte(i) & 0x3F);
  }
  const uint32_t smallest = length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u;
  if (code_point < smallest || code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) return {};
  return {code_point, length};
}

// Bytes before the first malformed byte.
constexpr size_t valid_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Char next = first_char(text.substr(at));
    if (next.length == 0) break;
    at += next.length;
  }
  return at;
}

// Malformed bytes before the first character.
constexpr size_t malformed_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && first_char(text.substr(at)).length == 0) ++at;
  return at;
}

// The character that `text` ends with; length 0 when it is empty or ends with a malformed byte.
constexpr Utf8Char last_char(std::string_view text) {
  for (size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    const std::string_view tail = text.substr(text.size() - length);
    if (const Utf8Char found = first_char(tail); found.length == length) return found;
    if ((static_cast<unsigned char>(tail[0]) & 0xC0) != 0x80) break;
  }
  return {};
}

// `code_point` must be a Unicode scalar value.
inline void append_utf8(std::string* text, uint32_t code_point) {
  const auto put = [&](uint32_t byte) { text->push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

// White_Space of Unicode, which Oniguruma's and Rust's \s mean.  PCRE2's \s has U+180E as well, which left the property in
// Unicode 6.3.
constexpr bool is_white_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace tdl::text
