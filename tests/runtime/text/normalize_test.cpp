#include "runtime/text/normalize.h"

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

text::Normalizer make(const Json& json) {
  auto made = text::Normalizer::read(Parsed(json).root());
  REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
  return std::move(made).value();
}

std::string normalized(const Json& json, std::string text) {
  const Status status = make(json).apply(&text);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return text;
}

std::string form(const char* type, std::string text) {
  return normalized({{"type", type}}, std::move(text));
}
Json replace(const char* pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}
Json sequence(const Json& steps) {
  return {{"type", "Sequence"}, {"normalizers", steps}};
}
Code refusal(const Json& json) {
  return text::Normalizer::read(Parsed(json).root()).status().code();
}

}  // namespace

TEST_CASE("composes and decomposes as Unicode's annex 15 says") {
  CHECK(form("NFC", "e\u0301") == "\u00E9");
  CHECK(form("NFD", "\u00E9") == "e\u0301");
  CHECK(form("NFC", "\u212B") == "\u00C5");
  CHECK(form("NFC", "q\u0307\u0323") == "q\u0323\u0307");
  CHECK(form("NFC", "\u1E0A\u0323") == "\u1E0C\u0307");
  CHECK(form("NFC", "\u0958") == "\u0915\u093C");  // a composition exclusion
  CHECK(form("NFC", "\uFB01") == "\uFB01");
  CHECK(form("NFKC", "\uFB01\uFF21\u2167") == "fiAVIII");
  CHECK(form("NFKD", "\u1E9B\u0323") == "s\u0323\u0307");
  CHECK(form("NFC", "plain") == "plain");
  CHECK(form("NFC", "") == "");
}

TEST_CASE("joins conjoining jamo, and keeps U+11A7, which joins nothing") {
  CHECK(form("NFC", "\u1112\u1161\u11AB") == "\uD55C");
  CHECK(form("NFC", "\uAC00\u11A8") == "\uAC01");
  CHECK(form("NFC", "\uAC01\u11A8") == "\uAC01\u11A8");
  CHECK(form("NFC", "\uAC00\u11A7") == "\uAC00\u11A7");
  CHECK(form("NFC", "\u1100\u1161\u11A7\u11A8") == "\uAC00\u11A7\u11A8");
  CHECK(form("NFD", "\uD55C") == "\u1112\u1161\u11AB");
}

TEST_CASE("malformed bytes stay, and nothing composes across them") {
  CHECK(form("NFC", "e\xFF\u0301") == "e\xFF\u0301");
  CHECK(form("NFC",
             "\xFF"
             "e\u0301\xC3") == "\xFF\u00E9\xC3");
  CHECK(form("NFD", "\xE2\x82\u00E9\xE2\x82") ==
        "\xE2\x82"
        "e\u0301\xE2\x82");
  CHECK(form("Lowercase",
             "A\xFF\xC3"
             "B") ==
        "a\xFF\xC3"
        "b");
}

TEST_CASE("runs of marks and of U+11A7 take no quadratic time") {
  std::string marks = "a", joints;
  for (int i = 0; i < 200000; ++i) marks += i % 2 ? "\u0301" : "\u0316";
  for (int i = 0; i < 100000; ++i) joints += "\uAC00\u11A7";
  const std::string sorted = form("NFC", marks);
  CHECK(sorted.size() == marks.size() - 1);  // the first acute joins the a, whatever stands between
  CHECK(sorted.substr(0, 6) == "\u00E1\u0316\u0316");
  CHECK(form("NFC", joints) == joints);
}

TEST_CASE("lowercases letter by letter, the dotted I as two characters") {
  CHECK(form("Lowercase", "ÄBC Σ \u0130Ω1") == "äbc σ i\u0307ω1");
}

TEST_CASE("prepends and replaces, but leaves an empty text alone") {
  CHECK(normalized({{"type", "Prepend"}, {"prepend", "\u2581"}}, "a") == "\u2581a");
  CHECK(normalized({{"type", "Prepend"}, {"prepend", "\u2581"}}, "") == "");
  CHECK(normalized(replace(" ", "__"), " a  b") == "__a____b");
  CHECK(normalized(replace("aa", "a"), "aaaaa") == "aaa");
  CHECK(normalized(sequence({replace("a", ""), Json{{"type", "Prepend"}, {"prepend", "x"}}}), "aa") == "");
  CHECK(normalized(sequence(Json::array()), "aa") == "aa");
  CHECK(text::Normalizer::read({})->empty());
}

TEST_CASE("replacements that would grow a text past 2^31 bytes are refused before they are made") {
  std::string text = "aaaa";
  CHECK(make(sequence({replace("a", std::string(1000, 'a')), replace("a", std::string(1000, 'a')),
                       replace("a", std::string(1000, 'a'))}))
            .apply(&text)
            .code() == Code::limit);
}

TEST_CASE("refuses other kinds by name, and malformed ones") {
  for (const char* type : {"BertNormalizer", "Strip", "StripAccents", "Nmt", "Precompiled", "ByteLevel", "nfc", ""})
    CHECK(refusal({{"type", type}}) == Code::unsupported);
  CHECK(refusal({{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", "b"}}) == Code::unsupported);
  CHECK(refusal(replace("", "b")) == Code::unsupported);
  Json many = Json::array();
  for (uint32_t i = 0; i <= text::Normalizer::kMaxSteps; ++i) many.push_back({{"type", "NFC"}});
  CHECK(refusal(sequence(many)) == Code::unsupported);
  CHECK(refusal(7) == Code::format);
  CHECK(refusal(Json::object()) == Code::format);
  CHECK(refusal({{"type", "Sequence"}}) == Code::format);
  CHECK(refusal({{"type", "Prepend"}}) == Code::format);
  CHECK(refusal({{"type", "Prepend"}, {"prepend", 7}}) == Code::format);
  CHECK(refusal({{"type", "Replace"}, {"pattern", {{"String", "a"}}}}) == Code::format);
}
