// Exact agreement with the Python package `tokenizers`, whose answers tests/data/text/make_tokenizers.py has written down.
#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

void check_family(const std::string& name, const char* file = "cases.json") {
  const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json(name));
  const Json cases = data_json(file);
  const std::vector<std::string> texts = cases["texts"];
  const Json& expected = cases[name];
  REQUIRE(texts.size() > 250);
  for (size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    CAPTURE(texts[i]);
    const std::string key = std::to_string(i);
    const Ids ids = expected["ids"][i];
    CHECK(encode(*tokenizer, texts[i]) == ids);
    CHECK(decode(*tokenizer, ids) == expected["decoded"].value(key, texts[i]));
    if (expected["added"].contains(key)) CHECK(encode(*tokenizer, texts[i], {false, true}) == expected["added"][key].get<Ids>());
    CHECK(encode(*tokenizer, texts[i], {true, false}) ==
          (expected["as_text"].contains(key) ? expected["as_text"][key].get<Ids>() : ids));
  }
  for (const Json& row : expected["random"]) {
    const Ids ids = row["ids"];
    CHECK(decode(*tokenizer, ids) == from_hex(row["bytes"]));
    CHECK(decode(*tokenizer, ids, true) == from_hex(row["without_special"]));
  }
}

void apply(const Json& changes, Json* document) {
  for (const auto& [name, value] : changes.items()) {
    if (name[0] == '/') (*document)[Json::json_pointer(name)] = value;
  }
  Json& model = (*document)["model"];
  const Json without = changes.value("without", Json::array()), with = changes.value("with", Json::object());
  for (const Json& token : without) model["vocab"].erase(token.get<std::string>());
  for (const auto& [token, id] : with.items()) model["vocab"][token] = id;
  if (!changes.contains("first_merges")) return;
  Json merges = changes["first_merges"];
  for (const Json& merge : model["merges"]) merges.push_back(merge);
  for (const Json& merge : changes["last_merges"]) merges.push_back(merge);
  model["merges"] = merges;
}

void check_variants(const char* base_name, const char* file) {
  const Json data = data_json(file);
  const std::vector<std::string> texts = data["texts"];
  const Json base = Json::parse(tokenizer_json(base_name));
  REQUIRE(data["variants"].size() > 25);
  for (const Json& variant : data["variants"]) {
    CAPTURE(variant["name"].get<std::string>());
    Json document = base;
    apply(variant["changes"], &document);
    const TokenizerPtr tokenizer = make_tokenizer(document.dump());
    for (size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(texts[i]);
      const Ids ids = variant["ids"][i];
      CHECK(encode(*tokenizer, texts[i], {false, true}) == ids);
      if (variant.contains("decoded")) CHECK(decode(*tokenizer, ids) == variant["decoded"][i].get<std::string>());
      if (variant.contains("bare")) CHECK(decode(*tokenizer, ids, true) == variant["bare"][i].get<std::string>());
    }
  }
}

}  // namespace

TEST_CASE("tokenizes as the tokenizers package does: the structure of GPT-2") {
  check_family("gpt2");
}
TEST_CASE("tokenizes as the tokenizers package does: the structure of Qwen2.5 and Qwen3") {
  check_family("qwen");
}
TEST_CASE("tokenizes as the tokenizers package does: the structure of Llama 3") {
  check_family("llama3");
}
TEST_CASE("tokenizes as the tokenizers package does: abacus") {
  check_family("abacus");
}

TEST_CASE("tokenizes as the tokenizers package does: the structure of Llama 2") {
  check_family("llama2", "character_cases.json");
}
TEST_CASE("tokenizes as the tokenizers package does: the structure of Mistral") {
  check_family("mistral", "character_cases.json");
}
TEST_CASE("tokenizes as the tokenizers package does: the structure of Gemma") {
  check_family("gemma", "character_cases.json");
}

TEST_CASE("tokenizes as the tokenizers package does: every pre-tokenizer, normalizer, flag and option of byte-level files") {
  check_variants("gpt2", "variants.json");
}
TEST_CASE("tokenizes as the tokenizers package does: every pre-tokenizer, normalizer, decoder and option of character files") {
  check_variants("llama2", "character_variants.json");
}
