#include "runtime/text/replace.h"

#include <doctest/doctest.h>

#include <string>

using namespace tdl;

namespace {

std::string replaced(std::string text, const char* pattern, const char* content) {
  REQUIRE(text::replace_all(pattern, content, "test", &text).ok());
  return text;
}

}  // namespace

TEST_CASE("every place is replaced, left to right, and what came in is not looked at again") {
  CHECK(replaced("a b  c", " ", "\u2581") == "a\u2581b\u2581\u2581c");
  CHECK(replaced("aaa", "aa", "b") == "ba");
  CHECK(replaced("aaa", "a", "aa") == "aaaaaa");
  CHECK(replaced("abab", "ab", "") == "");
  CHECK(replaced("", "a", "b") == "");
  CHECK(replaced("xyz", "a", "b") == "xyz");
}

TEST_CASE("a text that would become too long stays as it was") {
  std::string text(1u << 16, 'a');
  const Status status = text::replace_all("a", std::string(1u << 16, 'b'), "test", &text);
  CHECK(status.code() == Code::limit);
  CHECK(text == std::string(1u << 16, 'a'));
}
