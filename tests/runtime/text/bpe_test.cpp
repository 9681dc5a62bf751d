#include "runtime/text/bpe.h"

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

// The bytes, the given tokens from id 256 on, and merges.
Json model_of(const std::vector<std::string>& tokens, const Json& merges) {
  Json model = byte_tokenizer()["model"];
  for (const std::string& token : tokens) model["vocab"].emplace(token, static_cast<uint32_t>(256 + (&token - tokens.data())));
  model["merges"] = merges;
  return model;
}

struct Model {
  text::Vocabulary vocabulary;
  text::Bpe bpe;

  Ids encode(std::string_view word) const {
    text::BpeScratch scratch;
    Ids ids;
    const Status status = bpe.encode(word, vocabulary, &scratch, &ids);
    REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
    return ids;
  }
};

Result<Model> read(const Json& json) {
  const Parsed parsed(json);
  std::vector<text::NewToken> tokens;
  TDL_TRY(text::Bpe::read_vocabulary(parsed.root(), &tokens));
  Model model;
  TDL_ASSIGN(model.vocabulary, text::Vocabulary::build(tokens));
  TDL_ASSIGN(model.bpe, text::Bpe::read(parsed.root(), text::WordUnit::byte, model.vocabulary));
  return model;
}

Model make(const Json& json) {
  auto model = read(json);
  REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
  return std::move(model).value();
}

Code refusal(const char* field, const Json& value) {
  Json model = model_of({"ab"}, {"a b"});
  model[field] = value;
  return read(model).status().code();
}

}  // namespace

TEST_CASE("the pair of lowest rank is merged first, the leftmost of equal ones before") {
  const Model model = make(model_of({"bc", "ab", "abc", "aa"}, {"b c", "a b", "a bc", "a a"}));
  CHECK(model.encode("abc") == Ids{258});
  CHECK(model.encode("abab") == Ids{257, 257});
  CHECK(model.encode("aaa") == Ids{259, 'a'});
  CHECK(model.encode("aabc") == Ids{'a', 258});
  CHECK(model.encode("") == Ids{});
  CHECK(model.encode("x") == Ids{'x'});
}

TEST_CASE("merges may be lines or pairs, and a version line counts for nothing") {
  const std::vector<std::string> tokens = {"ab", "abc"};
  const Model lines = make(model_of(tokens, {"#version: 0.2", "a b", "ab c"})),
              pairs = make(model_of(tokens, Json::array({Json::array({"a", "b"}), Json::array({"ab", "c"})})));
  CHECK(lines.encode("abcab") == Ids{257, 256});
  CHECK(pairs.encode("abcab") == Ids{257, 256});
}

TEST_CASE("of a pair that is named twice the later rank counts") {
  const Json merges = {"a b", "b c", "a b"};
  CHECK(make(model_of({"ab", "bc"}, merges)).encode("abc") == Ids{'a', 257});
}

TEST_CASE("with ignore_merges a word that is a token needs no merges, and only a whole word") {
  Json json = model_of({"abc", "\u0120x"}, Json::array());
  CHECK(make(json).encode("abc") == Ids{'a', 'b', 'c'});
  json["ignore_merges"] = true;
  CHECK(make(json).encode("abc") == Ids{256});
  CHECK(make(json).encode(" x") == Ids{257});
  CHECK(make(json).encode("abcd") == Ids{'a', 'b', 'c', 'd'});
}

TEST_CASE("a byte without a token is the unknown token, a run of them one when they are fused, and an error when there is none") {
  Json json = model_of({"<unk>"}, Json::array());
  json["vocab"].erase("z");
  const Model without = make(json);
  text::BpeScratch scratch;
  Ids ids;
  CHECK(without.encode("ab") == Ids{'a', 'b'});
  CHECK(without.bpe.encode("az", without.vocabulary, &scratch, &ids).code() == Code::unsupported);
  json["unk_token"] = "<unk>";
  CHECK(make(json).encode("azzbz") == Ids{'a', 256, 256, 'b', 256});
  json["fuse_unk"] = true;
  CHECK(make(json).encode("azzbz") == Ids{'a', 256, 'b', 256});
}

TEST_CASE("a word of a million bytes takes no quadratic time") {
  const Model model = make(model_of({"aa", "aaaa", "ba", "aab"}, {"a a", "aa aa", "b a", "aa b"}));
  CHECK(model.encode(std::string(1000000, 'a')).size() == 250000);
  std::string mixed;
  for (int i = 0; i < 200000; ++i) mixed += "aab";
  CHECK(model.encode(mixed).size() == 200000);
}

TEST_CASE("refuses what this BPE does not do, and names it") {
  CHECK(refusal("type", "Unigram") == Code::unsupported);
  CHECK(refusal("type", "WordPiece") == Code::unsupported);
  CHECK(refusal("dropout", 0.1) == Code::unsupported);
  CHECK(refusal("dropout", 0.0) == Code::ok);
  CHECK(refusal("dropout", "0") == Code::unsupported);
  CHECK(refusal("byte_fallback", true) == Code::unsupported);
  CHECK(refusal("continuing_subword_prefix", "##") == Code::unsupported);
  CHECK(refusal("continuing_subword_prefix", "") == Code::ok);
  CHECK(refusal("end_of_word_suffix", "</w>") == Code::unsupported);
  Json model = model_of({}, Json::array());
  model["type"] = "Unigram";
  CHECK(std::string(read(model).status().message()).find("Unigram") != std::string::npos);
}

TEST_CASE("a model without a type is BPE when it has merges, as in GPT-2's file") {
  Json model = model_of({"ab"}, {"a b"});
  model.erase("type");
  CHECK(make(model).encode("ab") == Ids{256});
  model.erase("merges");
  CHECK(read(model).status().code() == Code::unsupported);
}

TEST_CASE("refuses a malformed vocabulary and malformed merges") {
  CHECK(refusal("vocab", nullptr) == Code::format);
  CHECK(refusal("vocab", Json::array()) == Code::format);
  CHECK(refusal("vocab", {{"a", -1}}) == Code::format);
  CHECK(refusal("vocab", {{"a", 2147483648u}}) == Code::format);
  CHECK(refusal("vocab", {{"a", 1}, {"b", 1}, {"ab", 2}}) == Code::format);
  CHECK(refusal("merges", nullptr) == Code::format);
  CHECK(refusal("merges", Json::object()) == Code::format);
  for (const Json& merge :
       {Json("ab"), Json("a b c"), Json("a  b"), Json(""), Json(" "), Json(7), Json::array({"a"}), Json::array({"a", "b", "ab"}),
        Json::array({"a", 7}), Json::array({"", "ab"}), Json("a x"), Json("x a"), Json("a c")}) {
    CAPTURE(merge.dump());
    CHECK(refusal("merges", Json::array({merge})) == Code::format);
  }
}
