#include "runtime/load/utf8.h"

#include <doctest/doctest.h>

#include <string>

using tdl::is_utf8;
using tdl::quoted;

TEST_SUITE("utf8") {
  TEST_CASE("accepts the first and last character of every length") {
    CHECK(is_utf8(""));
    CHECK(is_utf8("plain"));
    CHECK(is_utf8("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));
    CHECK(is_utf8("\xED\x9F\xBF\xEE\x80\x80"));  // the neighbours of the surrogates
  }

  TEST_CASE("refuses overlong forms, surrogates, what lies above U+10FFFF, and halves") {
    for (const char* bad :
         {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
          "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3(", "\xE2\x82("}) {
      CAPTURE(std::string(bad));
      CHECK_FALSE(is_utf8(bad));
      CHECK_FALSE(is_utf8(std::string("fine ") + bad + " fine"));
    }
  }

  TEST_CASE("quotes a name with control characters and bad bytes replaced") {
    CHECK(quoted("a b") == "'a b'");
    CHECK(quoted(std::string_view("a\n\0\x1B\x7F\xFF z", 8)) == "'a????? z'");
    CHECK(quoted("\xC3\xA9") == "'\xC3\xA9'");
  }

  TEST_CASE("quotes the beginning of a long name, at a character's boundary") {
    CHECK(quoted(std::string(100, 'x')) == "'" + std::string(100, 'x') + "'");
    const std::string cut = quoted(std::string(98, 'x') + "\xF0\x9F\x98\x80 and more");
    CHECK(cut == "'" + std::string(98, 'x') + "...'");
  }
}
