#include "runtime/text/decoder.h"

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

const Json kByteLevel = {{"type", "ByteLevel"}}, kFuse = {{"type", "Fuse"}}, kBytes = {{"type", "ByteFallback"}};

Json list(const Json& steps) {
  return {{"type", "Sequence"}, {"decoders", steps}};
}
Json replace(const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}
Json strip(const Json& start, const Json& stop = 0, const Json& content = " ") {
  return {{"type", "Strip"}, {"start", start}, {"stop", stop}, {"content", content}};
}
Json metaspace(const char* scheme) {
  return {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}};
}

Code refusal(const Json& json, bool byte_level = false) {
  return text::Decoder::read(Parsed(json).root(), byte_level).status().code();
}

// The text of the tokens, all of the model.
std::string decoded(const Json& json, const std::vector<std::string>& tokens, bool byte_level = false) {
  auto decoder = text::Decoder::read(Parsed(json).root(), byte_level);
  REQUIRE_MESSAGE(decoder.ok(), std::string(decoder.status().message()));
  std::string bytes;
  for (const std::string& token : tokens) REQUIRE(decoder->append(token, &token == tokens.data(), &bytes).ok());
  decoder->strip(&bytes);
  return bytes;
}

}  // namespace

TEST_CASE("ByteLevel reads a token as a spelling of bytes") {
  CHECK(decoded(kByteLevel, {"\u0120\u00E9", "a b"}, true) ==
        " \xE9"
        "a b");
  CHECK(decoded(list({kByteLevel, kFuse}), {"\u0120"}, true) == " ");
}

TEST_CASE("ByteFallback makes a token of a byte that byte, and no other") {
  const Json json = list(Json::array({kBytes}));
  CHECK(decoded(json, {"<0xE6>", "<0x97>", "<0xa5>", "x"}) == "\u65E5x");
  CHECK(decoded(json, {"<0xE6>", "<0x97>"}) == "\xE6\x97");
  CHECK(decoded(json, {"<0x00>", "<0xFF>"}) == std::string("\0\xFF", 2));
  for (const char* token : {"<0x1>", "<0x1G>", "<0xG1>", "<0X11>", "0x1111", "<0x11>>", "<0x111", ""})
    CHECK(decoded(json, {token}) == token);
  CHECK(decoded(list({replace("a", "b"), kFuse}), {"<0x41>"}) == "<0x41>");
}

TEST_CASE("Replace changes each token, in the order of the list, before bytes are read") {
  CHECK(decoded(replace("\u2581", " "), {"\u2581\u2581a\u2581", "b"}) == "  a b");
  CHECK(decoded(list({replace("a", "bb"), replace("bb", "c"), kBytes}), {"aab", "b"}) == "ccbb");
  CHECK(decoded(list({replace("y", "0x41"), kBytes}), {"<y>"}) == "A");
}

TEST_CASE("Metaspace drops the spaces of the first token, unless it never put one there") {
  CHECK(decoded(metaspace("always"), {"\u2581\u2581a\u2581b", "\u2581c"}) == "ab c");
  CHECK(decoded(metaspace("first"), {"\u2581", "\u2581c"}) == " c");
  CHECK(decoded(metaspace("never"), {"\u2581a", "\u2581c"}) == " a c");
}

TEST_CASE("Strip takes at most so many characters off the start of the text") {
  const auto with = [](uint32_t start, const char* content) { return list({kFuse, strip(start, 0, content)}); };
  CHECK(decoded(with(1, " "), {" ", " a"}) == " a");
  CHECK(decoded(with(2, " "), {" ", " a"}) == "a");
  CHECK(decoded(with(3, "\u65E5"), {"\u65E5\u65E5", "\u65E5"}) == "");
  CHECK(decoded(with(5, "\u65E5"), {"\u65E5a\u65E5"}) == "a\u65E5");
  CHECK(decoded(with(0, " "), {" a"}) == " a");
  CHECK(decoded(with(1, " "), {}) == "");
}

TEST_CASE("a ByteLevel pre-tokenizer needs ByteLevel, alone or with Fuse behind it") {
  CHECK(refusal(list({kByteLevel, kFuse}), true) == Code::ok);
  CHECK(refusal(list({kFuse, kByteLevel}), true) == Code::unsupported);
  CHECK(refusal(list(Json::array({kFuse})), true) == Code::unsupported);
  CHECK(refusal(list(Json::array()), true) == Code::unsupported);
  for (const Json& step : {kBytes, kByteLevel, replace("a", "b"), strip(1), metaspace("never")}) {
    if (step != kByteLevel) CHECK(refusal(step, true) == Code::unsupported);
    CHECK(refusal(list({kByteLevel, step}), true) == Code::unsupported);
  }
  CHECK(refusal(kByteLevel, false) == Code::unsupported);
}

TEST_CASE("refuses other types and other orders, by name") {
  CHECK(text::Decoder::read({}, true).status().code() == Code::unsupported);
  CHECK(text::Decoder::read({}, false).status().code() == Code::unsupported);
  for (const char* type : {"WordPiece", "BPEDecoder", "CTC", "Sequence", "Unheard"}) {
    const Json json = list(Json::array({Json{{"type", type}}}));
    CHECK(refusal(json) == Code::unsupported);
    CHECK(std::string(text::Decoder::read(Parsed(json).root(), false).status().message()).find(type) != std::string::npos);
  }
  CHECK(refusal(list({kBytes, replace("a", "b")})) == Code::unsupported);
  CHECK(refusal(list({kFuse, kBytes})) == Code::unsupported);
  CHECK(refusal(list({kFuse, metaspace("never")})) == Code::unsupported);
  CHECK(refusal(strip(1)) == Code::unsupported);
  CHECK(refusal(list({kBytes, strip(1)})) == Code::unsupported);
  CHECK(refusal(list({kFuse, strip(1), strip(1)})) == Code::unsupported);
  CHECK(refusal(list({kFuse, strip(1), kFuse})) == Code::unsupported);
  CHECK(refusal(list({kFuse, strip(0, 1)})) == Code::unsupported);
  CHECK(refusal(replace("", "b")) == Code::unsupported);
  CHECK(refusal({{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", "b"}}) == Code::unsupported);
  Json steps = Json::array();
  for (uint32_t i = 0; i < text::Decoder::kMaxSteps; ++i) steps.push_back(replace("a", "b"));
  CHECK(refusal(list(steps)) == Code::ok);
  steps.push_back(replace("a", "b"));
  CHECK(refusal(list(steps)) == Code::unsupported);
}

TEST_CASE("refuses malformed decoders") {
  for (const Json& json : {Json(7), Json::object(), Json{{"type", 7}}, Json{{"type", "Sequence"}}, list(Json::array({7}))}) {
    CHECK(refusal(json, true) == Code::format);
    CHECK(refusal(json, false) == Code::format);
  }
  for (const Json& step :
       {strip(-1), strip(1, "0"), strip(nullptr), strip(1, 0, ""), strip(1, 0, "ab"), strip(1, 0, 7), strip(1, 0, nullptr)})
    CHECK(refusal(list({kFuse, step})) == Code::format);
  CHECK(refusal({{"type", "Replace"}, {"content", "b"}}) == Code::format);
  CHECK(refusal({{"type", "Replace"}, {"pattern", {{"String", 7}}}, {"content", "b"}}) == Code::format);
  CHECK(refusal({{"type", "Replace"}, {"pattern", {{"String", "a"}}}}) == Code::format);
  CHECK(refusal({{"type", "Metaspace"}}) == Code::format);
}

TEST_CASE("a file cannot make a token grow without end") {
  Json steps = Json::array();
  for (int i = 0; i < 32; ++i) steps.push_back(replace("a", "aaaaaaaaaaaaaaaa"));
  auto decoder = text::Decoder::read(Parsed(list(steps)).root(), false);
  REQUIRE(decoder.ok());
  std::string bytes;
  CHECK(decoder->append("a", false, &bytes).code() == Code::limit);
  CHECK(bytes.empty());
}
