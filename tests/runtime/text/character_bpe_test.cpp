// BPE of words that are characters, with byte fallback: the model alone, and what only whole tokenizers of this kind do.
#include <algorithm>
#include <random>

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

struct Model {
  text::Vocabulary vocabulary;
  text::Bpe bpe;
};

// <unk> is 0, then the tokens, then the tokens of the given bytes.
Json model_of(const std::vector<std::string>& tokens, const std::vector<std::string>& bytes, const Json& merges) {
  Json vocab = {{"<unk>", 0}};
  for (const std::string& token : tokens) vocab.emplace(token, static_cast<uint32_t>(vocab.size()));
  for (const std::string& byte : bytes) vocab.emplace("<0x" + byte + ">", static_cast<uint32_t>(vocab.size()));
  return {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}, {"byte_fallback", true}, {"unk_token", "<unk>"}};
}

Result<Model> read(const Json& json) {
  const Parsed parsed(json);
  std::vector<text::NewToken> tokens;
  TDL_TRY(text::Bpe::read_vocabulary(parsed.root(), &tokens));
  Model model;
  TDL_ASSIGN(model.vocabulary, text::Vocabulary::build(tokens));
  TDL_ASSIGN(model.bpe, text::Bpe::read(parsed.root(), text::WordUnit::character, model.vocabulary));
  return model;
}

Status encode(const Json& json, std::string_view word, Ids* ids) {
  auto model = read(json);
  REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
  text::BpeScratch scratch;
  return model->bpe.encode(word, model->vocabulary, &scratch, ids);
}

Ids encoded(const Json& json, std::string_view word) {
  Ids ids;
  const Status status = encode(json, word, &ids);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return ids;
}

}  // namespace

TEST_CASE("a character without a token becomes the tokens of its bytes, if they are all there") {
  const Json json = model_of({"a", "\u65E5", "a\u65E5"}, {"C3", "A9", "FF"}, {"a \u65E5"});
  CHECK(encoded(json, "a\u65E5") == Ids{3});
  CHECK(encoded(json, "\u00E9") == Ids{4, 5});
  CHECK(encoded(json, "\u00E8") == Ids{0});           // C3 A8
  CHECK(encoded(json, "a\xFF\xC3") == Ids{1, 6, 4});  // malformed bytes
  CHECK(encoded(json, "\xC0") == Ids{0});
  CHECK(encoded(json, "") == Ids{});
}

TEST_CASE("bytes merge like other tokens") {
  Json json = model_of({"a"}, {"C3", "A9"}, {"<0xC3> <0xA9>"});
  json["vocab"]["<0xC3><0xA9>"] = 9;
  CHECK(encoded(json, "a\u00E9") == Ids{1, 9});
}

TEST_CASE("unknown characters are fused when the model says so, and without an unknown token they are an error") {
  Json json = model_of({"a"}, {"C3", "A9"}, Json::array());
  CHECK(encoded(json, "xyax") == Ids{0, 0, 1, 0});
  json["fuse_unk"] = true;
  CHECK(encoded(json, "xyax") == Ids{0, 1, 0});
  CHECK(encoded(json, "x\u00E9y") == Ids{2, 3, 0});  // as the judge has it: bytes do not part the unknown ones
  json["unk_token"] = nullptr;
  Ids ids;
  const Status status = encode(json, "a\u65E5", &ids);
  CHECK(status.code() == Code::unsupported);
  CHECK(std::string(status.message()).find("U+65E5") != std::string::npos);
  CHECK(encode(json, "\xFF", &ids).code() == Code::unsupported);
  CHECK(encoded(json, "a\u00E9") == Ids{1, 2, 3});
}

TEST_CASE("without byte fallback the tokens of bytes are tokens like any other") {
  Json json = model_of({"a"}, {"C3", "A9"}, Json::array());
  json["byte_fallback"] = false;
  CHECK(encoded(json, "a\u00E9") == Ids{1, 0});
}

TEST_CASE("with ignore_merges a whole word is looked up as it is") {
  Json json = model_of({"a", "b", "\u2581ab"}, {}, Json::array());
  json["ignore_merges"] = true;
  CHECK(encoded(json, "\u2581ab") == Ids{3});
  CHECK(encoded(json, "ab") == Ids{1, 2});
}

TEST_CASE("any bytes come back byte for byte") {
  std::mt19937 random(5);
  static const char* const kPieces[] = {"a",        "the ", "  ",   "\n",  "\u00E9", "\u65E5", "\xE2\x96",
                                        "\xF0\x9F", "\x80", "\xFF", "<s>", "<0x41",  "[INST]"};
  for (const char* name : {"llama2", "mistral", "gemma"}) {
    const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json(name));
    for (int i = 0; i < 2000; ++i) {
      std::string bytes = "x";
      for (uint32_t n = random() % 30; n > 0; --n) {
        if (random() % 4 == 0)
          bytes.push_back(static_cast<char>(random() % 256));
        else
          bytes += kPieces[random() % std::size(kPieces)];
      }
      if (bytes.find("\u2581") != std::string::npos) continue;  // reads as a space
      CHECK(decode(*tokenizer, encode(*tokenizer, bytes, {true, false})) == bytes);
      // Llama 2 has a space behind each special token, which stays.
      if (name != std::string("llama2")) CHECK(decode(*tokenizer, encode(*tokenizer, bytes)) == bytes);
    }
  }
}

TEST_CASE("a stream gets the bytes of each token, also of a character in pieces, and the space that a whole text loses") {
  const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json("llama2"));
  const Ids ids = encode(*tokenizer, "the \U0001F9FF end", {false, true});
  std::string joined, bytes;
  std::vector<std::string> pieces;
  for (const uint32_t id : ids) {
    REQUIRE(tokenizer->token_bytes(id, &bytes).ok());
    pieces.push_back(bytes);
    joined += bytes;
  }
  CHECK(joined == "<s> the \U0001F9FF end");
  CHECK(std::count(pieces.begin(), pieces.end(), "\xF0") == 1);
  CHECK(decode(*tokenizer, ids) == joined);
  CHECK(decode(*tokenizer, ids, true) == "the \U0001F9FF end");
  CHECK(decode(*tokenizer, Ids(ids.begin() + 1, ids.end())) == "the \U0001F9FF end");
}

TEST_CASE("a text of a million bytes that is one word takes no quadratic time") {
  for (const char* name : {"llama2", "mistral", "gemma"}) {
    const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json(name));
    for (const std::string piece :
         {"the quick brown fox ", "a", " ", "\n", "\u65E5", "\xFF", "\u2581", "\U0001F9FF", "<s>", "e\u0301"}) {
      std::string bytes;
      while (bytes.size() < 1000000) bytes += piece;
      CHECK(!encode(*tokenizer, bytes).empty());
    }
  }
}

TEST_CASE("pre-tokenizer, model and decoder must belong together") {
  const auto refusal = [](const Json& json) { return text::Tokenizer::create(json.dump(), "").status().code(); };
  Json bytes = byte_tokenizer(), characters = Json::parse(tokenizer_json("llama2"));
  std::swap(bytes["decoder"], characters["decoder"]);
  CHECK(refusal(bytes) == Code::unsupported);
  CHECK(refusal(characters) == Code::unsupported);
  bytes = byte_tokenizer();
  bytes["model"]["byte_fallback"] = true;
  CHECK(refusal(bytes) == Code::unsupported);
  bytes = byte_tokenizer();
  bytes["pre_tokenizer"] = nullptr;
  CHECK(refusal(bytes) == Code::unsupported);
  characters = Json::parse(tokenizer_json("llama2"));
  characters["decoder"] = nullptr;
  CHECK(refusal(characters) == Code::unsupported);
}
