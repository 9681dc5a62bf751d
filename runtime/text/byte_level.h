// GPT-2's byte alphabet: each of the 256 bytes is written as one printable character, so that a vocabulary of bytes can be kept as
// text.  Bytes that print in Latin-1 stand for themselves, the other 68 are U+0100 and up, in order: the space is U+0120.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tdl::text {

// The character that stands for `byte`.
constexpr uint32_t char_of_byte(uint8_t byte) {
  const auto prints = [](uint32_t b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  if (prints(byte)) return byte;
  uint32_t rank = 0;
  for (uint32_t b = 0; b < byte; ++b) rank += prints(b) ? 0 : 1;
  return 0x100 + rank;
}

// The byte that `character` stands for, or -1.
int32_t byte_of_char(uint32_t character);

// Appends the alphabet's spelling of `bytes`.
void spell_bytes(std::string_view bytes, std::string* spelling);

// Appends what a token stands for: its bytes when every character is of the alphabet, else its own UTF-8, as the ByteLevel decoder
// of the `tokenizers` package does.
void unspell_token(std::string_view token, std::string* bytes);

}  // namespace tdl::text
