#include "runtime/text/added_tokens.h"

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

const text::Normalizer kPlain;

// Tokens of a model, numbered from 0.
std::vector<text::NewToken> model_tokens(const std::vector<std::string_view>& contents) {
  std::vector<text::NewToken> tokens;
  for (const std::string_view content : contents) tokens.push_back({content, static_cast<uint32_t>(tokens.size()), true, false});
  return tokens;
}

text::AddedTokens make(const Json& list) {
  const Parsed parsed(list);
  std::vector<text::NewToken> tokens;
  auto made = text::AddedTokens::read(parsed.root(), kPlain, &tokens);
  REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
  return std::move(made).value();
}

Json token(const std::string& content, uint32_t id, const std::vector<std::string>& flags = {}) {
  Json json = added_token(content, id);
  for (const std::string& flag : flags) json[flag] = true;
  return json;
}

// The text with each token as <id>.
std::string marked(const text::AddedTokens& tokens, std::string_view text, bool special = true) {
  std::vector<text::Segment> segments;
  tokens.find_raw(text, special, &segments);
  std::string out;
  for (const text::Segment& segment : segments) {
    if (segment.id != text::kNoToken)
      out += "<" + std::to_string(segment.id) + ">";
    else
      out.append(text.substr(segment.begin, segment.end - segment.begin));
  }
  return out;
}

Code refusal(const Json& list, const std::vector<std::string_view>& model = {}) {
  std::vector<text::NewToken> tokens = model_tokens(model);
  return text::AddedTokens::read(Parsed(list).root(), kPlain, &tokens).status().code();
}

}  // namespace

TEST_CASE("takes the leftmost token, and there the longest") {
  const text::AddedTokens tokens = make({token("ab", 0), token("abcd", 1), token("bcde", 2), token("c", 3)});
  CHECK(marked(tokens, "xabcdex") == "x<1>ex");
  CHECK(marked(tokens, "abc") == "<0><3>");
  CHECK(marked(tokens, "abcxbcde") == "<0><3>x<2>");
  CHECK(marked(tokens, "") == "");
  CHECK(marked(tokens, "a") == "a");
  CHECK(marked(make(Json::array()), "abc") == "abc");
}

TEST_CASE("a special token is text when that is asked for, and still hides what overlaps it") {
  const text::AddedTokens tokens = make({token("<a>", 0, {"special"}), token("a", 1)});
  CHECK(marked(tokens, "<a>a") == "<0><1>");
  CHECK(marked(tokens, "<a>a", false) == "<a><1>");
}

TEST_CASE("lstrip and rstrip take white space of any kind, but not twice") {
  const text::AddedTokens tokens =
      make({token("<l>", 0, {"lstrip"}), token("<r>", 1, {"rstrip"}), token("<b>", 2, {"lstrip", "rstrip"})});
  CHECK(marked(tokens, "a \u00A0\t<l> b") == "a<0> b");
  CHECK(marked(tokens, "a <r>\u3000\n b") == "a <1>b");
  CHECK(marked(tokens, "a <b> <b> b") == "a<2><2>b");
  CHECK(marked(tokens, "a\u200B<l>") == "a\u200B<0>");
  CHECK(marked(tokens, "\xA0<l>") == "\xA0<0>");  // a malformed byte is no space
  CHECK(marked(tokens, "<r> <l>") == "<1><0>");
}

TEST_CASE("a token inside the white space that another took is a token all the same") {
  const text::AddedTokens tokens = make({token("<r>", 0, {"rstrip"}), token(" y", 1)});
  CHECK(marked(tokens, "<r>  y b") == "<0><1> b");
}

TEST_CASE("a single word touches no letter, mark, digit or underscore") {
  const text::AddedTokens tokens = make(Json::array({token("ab", 0, {"single_word"})}));
  for (const std::string other : {"x", "7", "_", "é", "\u0301", "日", "\u0663", "\u203F", "\u200D", "\u24B6", "\u2160"}) {
    CAPTURE(other);
    CHECK(marked(tokens, other + "ab") == other + "ab");
    CHECK(marked(tokens, "ab" + other) == "ab" + other);
  }
  for (const std::string other : {" ", "-", "。", "\u00B2", "😀", "\u200B", "\xFF", "\n"}) {
    CAPTURE(other);
    CHECK(marked(tokens, other + "ab" + other) == other + "<0>" + other);
  }
  CHECK(marked(tokens, "ab abab ab") == "<0> abab <0>");
}

TEST_CASE("finds each of a thousand tokens") {
  Json list = Json::array();
  for (uint32_t i = 0; i < 1000; ++i) list.push_back(token("<|reserved_" + std::to_string(i) + "|>", i));
  const text::AddedTokens tokens = make(list);
  for (uint32_t i = 0; i < 1000; ++i)
    CHECK(marked(tokens, "<|reserved_" + std::to_string(i) + "|>") == "<" + std::to_string(i) + ">");
  CHECK(marked(tokens, "<|reserved_1000|>") == "<|reserved_1000|>");
}

TEST_CASE("normalized tokens are matched by their normal form, the special one before") {
  const Json json = {{"type", "Lowercase"}};
  auto normalizer = text::Normalizer::read(Parsed(json).root());
  REQUIRE(normalizer.ok());
  std::vector<text::NewToken> tokens;
  const Json list = {token("Ab", 0, {"normalized"}), token("AB", 1, {"normalized", "special"}), token("Raw", 2)};
  auto made = text::AddedTokens::read(Parsed(list).root(), normalizer.value(), &tokens);
  REQUIRE(made.ok());
  std::vector<text::Segment> segments;
  made->find_normalized("xab", true, &segments);
  REQUIRE(segments.size() == 2);
  CHECK(segments[1].id == 1);
  made->find_raw("ab Raw", true, &segments);
  REQUIRE(segments.size() == 2);
  CHECK(segments[1].id == 2);
}

TEST_CASE("tokens outside the vocabulary are numbered on from its size, in the order of the file") {
  std::vector<text::NewToken> tokens = model_tokens({"a", "b", "c"});
  const Json list = {token("<x>", 9), token("b", 1), token("<y>", 5)};
  REQUIRE(text::AddedTokens::read(Parsed(list).root(), kPlain, &tokens).ok());
  REQUIRE(tokens.size() == 6);
  CHECK(tokens[3].id == 3);
  CHECK(tokens[4].id == 1);
  CHECK(tokens[5].id == 4);
}

TEST_CASE("refuses ids and contents that contradict each other") {
  CHECK(refusal(Json::array({token("a", 0)}), {"a", "b"}) == Code::ok);
  CHECK(refusal(Json::array({token("a", 1)}), {"a", "b"}) == Code::format);
  CHECK(refusal(Json::array({token("x", 1)}), {"a", "b"}) == Code::format);
  CHECK(refusal({token("x", 2), token("y", 2)}, {"a", "b"}) == Code::format);
  CHECK(refusal({token("x", 2), token("x", 3)}, {"a", "b"}) == Code::format);
}

TEST_CASE("ignores an empty token, refuses a malformed one") {
  CHECK(marked(make(Json::array({token("", 0)})), "ab") == "ab");
  CHECK(refusal(Json::array({7})) == Code::format);
  CHECK(refusal(Json{{"a", 1}}) == Code::format);
  for (const char* field : {"id", "content", "special", "single_word", "lstrip", "rstrip", "normalized"}) {
    Json bad = token("x", 0);
    bad.erase(field);
    CHECK(refusal(Json::array({bad})) == Code::format);
    bad[field] = Json::array();
    CHECK(refusal(Json::array({bad})) == Code::format);
  }
}
