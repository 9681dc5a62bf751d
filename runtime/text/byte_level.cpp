#include "runtime/text/byte_level.h"

#include <array>

#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

constexpr uint32_t kAlphabetEnd = 0x100 + 68;

constexpr std::array<uint16_t, 256> kCharOfByte = [] {
  std::array<uint16_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) table[byte] = static_cast<uint16_t>(char_of_byte(static_cast<uint8_t>(byte)));
  return table;
}();

constexpr std::array<int16_t, kAlphabetEnd> kByteOfChar = [] {
  std::array<int16_t, kAlphabetEnd> table{};
  for (auto& byte : table) byte = -1;
  for (uint32_t byte = 0; byte < 256; ++byte) table[kCharOfByte[byte]] = static_cast<int16_t>(byte);
  return table;
}();

static_assert(kCharOfByte[' '] == 0x120 && kCharOfByte['\n'] == 0x10A && kCharOfByte[0xAD] == kAlphabetEnd - 1);

}  // namespace

int32_t byte_of_char(uint32_t character) {
  return character < kAlphabetEnd ? kByteOfChar[character] : -1;
}

void spell_bytes(std::string_view bytes, std::string* spelling) {
  for (const char byte : bytes) append_utf8(spelling, kCharOfByte[static_cast<unsigned char>(byte)]);
}

void unspell_token(std::string_view token, std::string* bytes) {
  const size_t before = bytes->size();
  for (size_t at = 0; at < token.size();) {
    const Utf8Char next = first_char(token.substr(at));
    const int32_t byte = next.length == 0 ? -1 : byte_of_char(next.code_point);
    if (byte < 0) {
      bytes->resize(before);
      bytes->append(token);
      return;
    }
    bytes->push_back(static_cast<char>(static_cast<unsigned char>(byte)));
    at += next.length;
  }
}

}  // namespace tdl::text
