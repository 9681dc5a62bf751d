#include "runtime/text/pattern.h"

#include <doctest/doctest.h>

#include <string>

using namespace tdl;
using namespace tdl::text;

namespace {

std::string translated(std::string_view pattern) {
  auto result = pcre2_pattern(pattern);
  REQUIRE_MESSAGE(result.ok(), std::string(result.status().message()));
  return std::move(result).value();
}

}  // namespace

TEST_CASE("what both engines read alike is copied") {
  for (const char* pattern :
       {"", "abc", "a|b||c", "a*b+c?d*?e+?f??g*+h++i?+", "(?:a(b)c)", "(?=a)(?!b)(?<=c)(?<!d)(?>e)", "(?i:a(?-i:b))", "^a$",
        ".\\A\\z\\Z", "\\d\\D\\p{L}\\P{Nd}\\p{^Z}", "a{2}b{2,}c{2,3}d{2,3}?", "日本語é"}) {
    CAPTURE(std::string(pattern));
    CHECK(translated(pattern) == pattern);
  }
}

TEST_CASE("what PCRE2 reads differently is rewritten") {
  CHECK(translated("\\v") == "\\x{B}");
  CHECK(translated("\\r\\n\\t\\-\\.\\x41\\x{1F600}\\u00e9\\/\\'") ==
        "\\x{D}\\x{A}\\x{9}\\x{2D}\\x{2E}\\x{41}\\x{1F600}\\x{E9}\\x{2F}\\x{27}");
  CHECK(translated("\\p{Han}\\P{Greek}\\p{^Thai}") == "\\p{sc:Han}\\P{sc:Greek}\\p{^sc:Thai}");
  CHECK(translated("a{,3}") == "a{0,3}");
  CHECK(translated("[a-c]") == "[\\x{61}-\\x{63}]");
  CHECK(translated("[^a[b]c]") == "[^\\x{61}\\x{62}\\x{63}]");
  CHECK(translated("[a-]") == "[\\x{61}\\x{2D}]");
  CHECK(translated("[-a\\]\\\\^]") == "[\\x{2D}\\x{61}\\x{5D}\\x{5C}\\x{5E}]");
  CHECK(translated("[(|[.)]\\p{L}]") == "[\\x{28}\\x{7C}\\x{2E}\\x{29}\\p{L}]");
  CHECK(translated("\\s").find("180E") == std::string::npos);
  CHECK(translated("\\s").front() == '[');
  CHECK(translated("[\\s]") == translated("\\s"));
}

TEST_CASE("what has no rule is refused, never guessed at") {
  for (const char* pattern : {"\\b",         "\\B",       "\\w",     "\\W",      "\\h",         "\\H",      "\\R",
                              "\\X",         "\\K",       "\\G",     "\\1",      "\\k<a>",      "\\g<a>",   "\\c",
                              "\\x{110000}", "\\x{D800}", "\\ud800", "\\xff",    "\\u12",       "\\Q",      "\\",
                              "\\é",         "(?i)a",     "(?m:a)",  "(?x: a)",  "(?#c)",       "(?<n>a)",  "(?P<n>a)",
                              "(?~a)",       "(*FAIL)",   "a{2}+",   "a{2}?",    "a{2,}?",      "a{,2}?",   "a**",
                              "a+*",         "a{2}{3}",   "*a",      "+",        "?",           "(|*a)",    "^*",
                              "(?=a)*",      "a{",        "a{x}",    "a{}",      "a{,}",        "a{99999}", "\\p{Alphabetic}",
                              "\\pL",        "\\p{L",     "\\p{}",   "\\p{l}",   "[[:alpha:]]", "[a&&b]",   "[a[^b]]",
                              "[]a]",        "[]",        "[^]",     "[\\b]",    "[a-\\d]",     "[\\d-a]",  "[\\s-a]",
                              "[a-c-e]",     "[a-[b]]",   "(?i:é)",  "(?i:[é])", "(?i:ss)",     "(?i:St)",  "(?i:fi)",
                              "(?i:\\p{Lu})"}) {
    CAPTURE(std::string(pattern));
    CHECK(pcre2_pattern(pattern).status().code() == Code::unsupported);
  }
  for (const char* pattern : {"[a", "[a[b]", "[b-a]", "\xff", "a\xc3"}) {
    CAPTURE(std::string(pattern));
    CHECK(pcre2_pattern(pattern).status().code() == Code::format);
  }
  CHECK(pcre2_pattern(std::string(1000, '(')).status().code() == Code::unsupported);
  CHECK(pcre2_pattern(std::string(1000000, '[')).status().code() == Code::unsupported);
}

TEST_CASE("a refusal names the construct and its place") {
  const std::string message = pcre2_pattern("ab\\wc").status().message();
  CHECK(message.find("\\w") != std::string::npos);
  CHECK(message.find("byte 2") != std::string::npos);
}
