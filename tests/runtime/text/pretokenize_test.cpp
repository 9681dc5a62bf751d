#include "runtime/text/pretokenize.h"

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

struct Collector final : text::WordSink {
  std::vector<std::string> words;
  size_t most = SIZE_MAX;
  Status word(std::string_view bytes) override {
    if (words.size() == most) return fail(Code::limit, "enough");
    words.emplace_back(bytes);
    return {};
  }
};

Json byte_level(bool prefix = false, bool regex = false) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"use_regex", regex}};
}
Json metaspace(const char* scheme, bool splits) {
  return {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}, {"split", splits}};
}
Json split(const std::string& pattern, const char* behavior = "Isolated") {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", behavior}, {"invert", false}};
}
Json sequence(const Json& steps) {
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

std::vector<std::string> words(const Json& json, std::string_view text, bool at_start = true) {
  auto made = text::PreTokenizer::read(Parsed(json).root());
  REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
  Collector collector;
  text::RegexScratch scratch;
  REQUIRE(made->split(text, at_start, &scratch, &collector).ok());
  return collector.words;
}

Code refusal(const Json& json) {
  return text::PreTokenizer::read(Parsed(json).root()).status().code();
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("GPT-2's pattern keeps one space with a word and splits contractions and numbers off") {
  CHECK(words(byte_level(false, true), "I don't  see 12a!\n ") == Words{"I", " don", "'t", " ", " see", " 12", "a", "!", "\n "});
  CHECK(words(byte_level(false, true), "") == Words{});
  CHECK(words(byte_level(false, false), "any thing") == Words{"any thing"});
}

TEST_CASE("a prefix space goes before each piece that has none, once") {
  CHECK(words(byte_level(true, false), "a b") == Words{" a b"});
  CHECK(words(byte_level(true, false), " a") == Words{" a"});
  CHECK(words(sequence({split(","), byte_level(true, false)}), "a, b") == Words{" a", " ,", " b"});
}

TEST_CASE("malformed bytes are kept, between the words or in them") {
  CHECK(words(byte_level(false, true),
              "ab\xFF\xFE"
              "cd \xC3") == Words{"ab", "\xFF\xFE", "cd", " ", "\xC3"});
  CHECK(words(sequence({split("b", "Removed"), byte_level()}),
              "a\xFF"
              "b\xFF") == Words{"a\xFF", "\xFF"});
  CHECK(words(sequence({split("b", "MergedWithPrevious"), byte_level()}),
              "\xFF"
              "b\xFF") == Words{"\xFF"
                                "b",
                                "\xFF"});
  CHECK(words(byte_level(true, false),
              "\xFF"
              "a") == Words{" \xFF"
                            "a"});
}

TEST_CASE("without steps a text is one word") {
  auto none = text::PreTokenizer::read({});
  REQUIRE(none.ok());
  CHECK(!none->byte_level());
  CHECK(words(sequence(Json::array()), "any thing") == Words{"any thing"});
  CHECK(text::PreTokenizer::read(Parsed(byte_level()).root())->byte_level());
}

TEST_CASE("Metaspace writes the spaces, puts one before the piece, and splits before each") {
  CHECK(words(metaspace("always", true), "a b  c") == Words{"\u2581a", "\u2581b", "\u2581", "\u2581c"});
  CHECK(words(metaspace("always", false), "a b") == Words{"\u2581a\u2581b"});
  CHECK(words(metaspace("never", true), "a b") == Words{"a", "\u2581b"});
  CHECK(words(metaspace("always", false), " a") == Words{"\u2581a"});
  CHECK(words(metaspace("always", true), "") == Words{});
  CHECK(words(metaspace("never", true), "a\xFF b") == Words{"a\xFF", "\u2581b"});
}

TEST_CASE("with the scheme \"first\" only the piece at the start of the text gets a space") {
  CHECK(words(metaspace("first", false), "a", true) == Words{"\u2581a"});
  CHECK(words(metaspace("first", false), "a", false) == Words{"a"});
  CHECK(words(metaspace("always", false), "a", false) == Words{"\u2581a"});
  CHECK(words(sequence({split(","), metaspace("first", false)}), "a,b") == Words{"\u2581a", ",", "b"});
  CHECK(words(sequence({split(",", "Removed"), metaspace("first", false)}), ",a") == Words{"a"});
}

TEST_CASE("the sink's failure ends the split") {
  const Json json = byte_level(false, true);
  auto made = text::PreTokenizer::read(Parsed(json).root());
  REQUIRE(made.ok());
  Collector collector;
  collector.most = 2;
  text::RegexScratch scratch;
  CHECK(made->split("a b c d", true, &scratch, &collector).code() == Code::limit);
  CHECK(collector.words == Words{"a", " b"});
}

TEST_CASE("refuses other kinds and other orders of steps, by name") {
  for (const char* type : {"Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "CharDelimiterSplit",
                           "UnicodeScripts", "FixedLength", ""}) {
    const Json json = sequence({Json{{"type", type}}, byte_level()});
    CHECK(refusal(json) == Code::unsupported);
    CHECK(std::string(text::PreTokenizer::read(Parsed(json).root()).status().message()).find(type) != std::string::npos);
  }
  CHECK(refusal(sequence({byte_level(), split("a")})) == Code::unsupported);
  CHECK(refusal(sequence({byte_level(), byte_level()})) == Code::unsupported);
  CHECK(refusal(sequence({split("\\w"), byte_level()})) == Code::unsupported);
  CHECK(refusal(sequence({split("a", "Merged"), byte_level()})) == Code::unsupported);
}

TEST_CASE("refuses more steps than it would nest") {
  Json steps = Json::array();
  for (uint32_t i = 1; i < text::PreTokenizer::kMaxSteps; ++i) steps.push_back(split("a"));
  steps.push_back(byte_level());
  CHECK(refusal(sequence(steps)) == Code::ok);
  steps.insert(steps.begin(), split("a"));
  CHECK(refusal(sequence(steps)) == Code::unsupported);
}

TEST_CASE("refuses malformed steps") {
  CHECK(refusal(7) == Code::format);
  CHECK(refusal(Json::object()) == Code::format);
  CHECK(refusal({{"type", 7}}) == Code::format);
  CHECK(refusal({{"type", "Sequence"}}) == Code::format);
  CHECK(refusal({{"type", "ByteLevel"}}) == Code::format);
  CHECK(refusal({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", 1}}) == Code::format);
  CHECK(refusal({{"type", "Digits"}}) == Code::format);
  CHECK(refusal({{"type", "Metaspace"}}) == Code::format);
  for (const char* field : {"pattern", "behavior", "invert"}) {
    Json step = split("a");
    step.erase(field);
    CHECK(refusal(sequence({step, byte_level()})) == Code::format);
    step[field] = 7;
    CHECK(refusal(sequence({step, byte_level()})) == Code::format);
  }
  for (const Json& pattern : {Json::object(), Json{{"Regex", 7}}, Json{{"String", nullptr}}, Json{{"Regex", "a"}, {"String", "a"}},
                              Json{{"Regex", "("}}}) {
    Json step = split("a");
    step["pattern"] = pattern;
    CHECK(refusal(sequence({step, byte_level()})) == Code::format);
  }
}
