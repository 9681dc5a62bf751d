#include "runtime/text/byte_level.h"

#include <doctest/doctest.h>

#include <set>

#include "runtime/text/utf8.h"

using namespace tdl::text;

TEST_CASE("the alphabet has one character for each byte, and gives the byte back") {
  std::set<uint32_t> characters;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t character = char_of_byte(static_cast<uint8_t>(byte));
    characters.insert(character);
    CHECK(byte_of_char(character) == static_cast<int32_t>(byte));
  }
  CHECK(characters.size() == 256);
  CHECK(char_of_byte('A') == 'A');
  CHECK(char_of_byte(' ') == 0x120);
  CHECK(char_of_byte(0) == 0x100);
  CHECK(char_of_byte(0x7F) == 0x121);
  CHECK(char_of_byte(0xA0) == 0x142);
  CHECK(char_of_byte(0xAD) == 0x143);
  CHECK(char_of_byte(0xFF) == 0xFF);
  for (const uint32_t other : {0x20u, 0x7Fu, 0x80u, 0xA0u, 0xADu, 0x144u, 0x3000u, 0x10FFFFu}) CHECK(byte_of_char(other) == -1);
}

TEST_CASE("spelling bytes and reading the spelling gives the bytes") {
  std::string bytes, spelling, back;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  spell_bytes(bytes, &spelling);
  CHECK(valid_prefix(spelling) == spelling.size());
  unspell_token(spelling, &back);
  CHECK(back == bytes);
}

TEST_CASE("a token with a character outside the alphabet stands for itself, all of it") {
  std::string bytes = "x";
  unspell_token(
      "\xC4\xA0"
      "a b",
      &bytes);  // U+0120, a, space, b
  CHECK(bytes ==
        "x\xC4\xA0"
        "a b");
  bytes.clear();
  unspell_token("日", &bytes);
  CHECK(bytes == "日");
  bytes.clear();
  unspell_token("a\xFF", &bytes);
  CHECK(bytes == "a\xFF");
}

TEST_CASE("UTF-8 is read as Unicode defines it, from both ends") {
  struct Row {
    std::string text;
    uint32_t code_point, length;
  };
  for (const Row& row : {Row{"a", 'a', 1}, Row{"\xC2\x80", 0x80, 2}, Row{"\xDF\xBF", 0x7FF, 2}, Row{"\xE0\xA0\x80", 0x800, 3},
                         Row{"\xED\x9F\xBF", 0xD7FF, 3}, Row{"\xEE\x80\x80", 0xE000, 3}, Row{"\xEF\xBF\xBF", 0xFFFF, 3},
                         Row{"\xF0\x90\x80\x80", 0x10000, 4}, Row{"\xF4\x8F\xBF\xBF", 0x10FFFF, 4}}) {
    CAPTURE(row.code_point);
    CHECK(first_char(row.text + "x").code_point == row.code_point);
    CHECK(first_char(row.text + "x").length == row.length);
    CHECK(last_char("x" + row.text).code_point == row.code_point);
    CHECK(last_char("x" + row.text).length == row.length);
    CHECK(valid_prefix(row.text) == row.length);
    std::string written;
    append_utf8(&written, row.code_point);
    CHECK(written == row.text);
  }
  for (const std::string text :
       {"", "\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xE2\x82", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF", "\xF0\x9F\x98"}) {
    CHECK(first_char(text).length == 0);
    CHECK(last_char(text).length == 0);
    CHECK(valid_prefix("ab" + text) == 2);
    CHECK(malformed_prefix(text + "ab") == text.size());
  }
}
