#include "runtime/text/regex.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "runtime/text/utf8.h"

using namespace tdl;
using namespace tdl::text;

namespace {

Regex compiled(std::string_view pattern) {
  auto regex = Regex::compile(pattern);
  REQUIRE_MESSAGE(regex.ok(), std::string(regex.status().message()));
  return std::move(regex).value();
}

// The matches, each in brackets: "a[b]c".
std::string marked(const Regex& regex, std::string_view text) {
  RegexScratch scratch;
  std::vector<Match> matches;
  const Status status = regex.find_all(text, &scratch, &matches);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  std::string out;
  size_t at = 0;
  for (const Match& match : matches) {
    REQUIRE(match.begin >= at);
    out.append(text.substr(at, match.begin - at)).append("[").append(text.substr(match.begin, match.end - match.begin)).append("]");
    at = match.end;
  }
  return out.append(text.substr(at));
}

// The characters that match, of all there are.
template <class Expected>
void check_class(const char* pattern, Expected expected) {
  const Regex regex = compiled(pattern);
  RegexScratch scratch;
  std::vector<Match> matches;
  uint32_t wrong = 0;
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(&text, c);
    matches.clear();
    const bool ok = regex.find_all(text, &scratch, &matches).ok();
    if ((!ok || matches.empty() == expected(c)) && ++wrong == 1)
      FAIL_CHECK(std::string(pattern) << " is wrong for character " << c);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("matches go left to right and do not overlap") {
  CHECK(marked(compiled("aa"), "aaaaa") == "[aa][aa]a");
  CHECK(marked(compiled("\\s+(?!\\S)|\\s+"), "a   b ") == "a[  ][ ]b[ ]");
  CHECK(marked(compiled("x"), "") == "");
  CHECK(marked(compiled("^a|b$"), "ab\nab\n") == "[a][b]\n[a][b]\n");
}

TEST_CASE("an empty match counts except where the match before it ended") {
  CHECK(marked(compiled("b*"), "abc") == "[]a[b]c[]");
  CHECK(marked(compiled(""), "aé") == "[]a[]é[]");
  CHECK(marked(compiled("(?=é)"), "aéé") == "a[]é[]é");
}

TEST_CASE("malformed bytes match nothing and end what a pattern sees") {
  CHECK(marked(compiled("."),
               "a\xFF"
               "b\xC3") == "[a]\xFF[b]\xC3");
  CHECK(marked(compiled("[^x]+"),
               "\x80\x80"
               "ab\xE2\x82"
               "cd") == "\x80\x80[ab]\xE2\x82[cd]");
  CHECK(marked(compiled("a$|^b"),
               "a\xFF"
               "b") == "[a]\xFF[b]");
  CHECK(marked(compiled("(?<=a)b"),
               "a\xFF"
               "bab") ==
        "a\xFF"
        "ba[b]");
}

TEST_CASE("a literal matches its bytes and nothing else") {
  auto literal = Regex::literal("(a|b)+.");
  REQUIRE(literal.ok());
  CHECK(marked(literal.value(), "ab.(a|b)+.") == "ab.[(a|b)+.]");
  CHECK(Regex::literal("\xFF").status().code() == Code::format);
  auto empty = Regex::literal("");
  REQUIRE(empty.ok());
  CHECK(marked(empty.value(), "ab") == "[]a[]b[]");
}

TEST_CASE("white space is the White_Space property, alone and in sets, and \\S what is left") {
  check_class("\\s", [](uint32_t c) { return is_white_space(c); });
  check_class("[\\s]", [](uint32_t c) { return is_white_space(c); });
  check_class("\\S", [](uint32_t c) { return !is_white_space(c); });
  check_class("[\\S]", [](uint32_t c) { return !is_white_space(c); });
  check_class("[^\\S]", [](uint32_t c) { return is_white_space(c); });
  CHECK_FALSE(is_white_space(0x180E));
  CHECK_FALSE(is_white_space(0x200B));
  CHECK(is_white_space(0x85));
}

TEST_CASE("a dot is anything but a line feed, and 's ignoring case is also the long s") {
  check_class(".", [](uint32_t c) { return c != '\n'; });
  check_class("(?i:s)", [](uint32_t c) { return c == 's' || c == 'S' || c == 0x17F; });
  check_class("\\v", [](uint32_t c) { return c == 0x0B; });
  check_class("\\p{^L}|\\p{L}", [](uint32_t) { return true; });
}

TEST_CASE("refuses patterns that do not compile") {
  for (const char* pattern : {"(", ")", "(a", "a)", "(?<=a)("}) CHECK(Regex::compile(pattern).status().code() == Code::format);
  CHECK(Regex::compile("(?<=a+)b").status().code() == Code::unsupported);
  CHECK(Regex::compile("(?:(?:(?:a{9999}){9999}){9999})").status().code() == Code::unsupported);
}

TEST_CASE("a pattern that backtracks without end is stopped, and the scratch can be used again") {
  RegexScratch scratch;
  std::vector<Match> matches;
  CHECK(compiled("(?:a+)+[bd]").find_all(std::string(40, 'a') + "c", &scratch, &matches).code() == Code::limit);
  CHECK(compiled("(?:a|b)*c").find_all(std::string(100000, 'a') + "c", &scratch, &matches).ok());
  CHECK(matches.size() == 1);
}

TEST_CASE("long runs take no quadratic time") {
  const Regex regex = compiled("\\p{L}+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+|[^\\s\\p{L}]+");
  RegexScratch scratch;
  for (const std::string piece : {"a", " ", " \n", "é", "a ", "!", "\xFF", "a\xFF"}) {
    std::string text;
    while (text.size() < 300000) text += piece;
    std::vector<Match> matches;
    CHECK(regex.find_all(text, &scratch, &matches).ok());
  }
}
