#include "runtime/text/tokenizer.h"

#include <random>
#include <thread>

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

Code refusal(const Json& json, std::string_view config = {}) {
  return text::Tokenizer::create(json.dump(), config).status().code();
}

// Random bytes: mostly characters, pieces of them, spaces and special tokens.
std::string random_bytes(std::mt19937* random) {
  static const char* const kPieces[] = {"a",          "the ",    "  ",          "\n",       "é",    "日本", "😀",    "<|endoftext|>",
                                        "<|im_end|>", "<think>", "\xE2\x82",    "\xF0\x9F", "\x80", "\xFF", "\xC3", "\0",
                                        "17",         "'s",      "\xED\xA0\x80"};
  std::string bytes;
  for (uint32_t n = (*random)() % 30; n > 0; --n) {
    if ((*random)() % 4 == 0)
      bytes.push_back(static_cast<char>((*random)() % 256));
    else
      bytes += kPieces[(*random)() % std::size(kPieces)];
  }
  return bytes;
}

}  // namespace

TEST_CASE("text that is no UTF-8 comes back byte for byte") {
  std::mt19937 random(1);
  for (const char* name : {"gpt2", "llama3", "abacus"}) {
    const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json(name));
    for (int i = 0; i < 2000; ++i) {
      const std::string bytes = random_bytes(&random);
      CHECK(decode(*tokenizer, encode(*tokenizer, bytes)) == bytes);
      CHECK(decode(*tokenizer, encode(*tokenizer, bytes, {true, false})) == bytes);
    }
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
    CHECK(decode(*tokenizer, encode(*tokenizer, all)) == all);
  }
}

TEST_CASE("a normalizer changes the characters around malformed bytes only") {
  const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json("qwen"));
  CHECK(decode(*tokenizer, encode(*tokenizer,
                                  "\xFF"
                                  "e\u0301\x80\u0301 \xE2\x82")) == "\xFF\u00E9\x80\u0301 \xE2\x82");
}

TEST_CASE("a special token is found between malformed bytes") {
  const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json("gpt2"));
  const Ids special = encode(*tokenizer, "<|endoftext|>");
  REQUIRE(special.size() == 1);
  const Ids ids = encode(*tokenizer, "\xF0<|endoftext|>\x9F");
  REQUIRE(ids.size() == 3);
  CHECK(ids[1] == special[0]);
  CHECK(decode(*tokenizer, ids, true) == "\xF0\x9F");
}

TEST_CASE("decoding is the concatenation of the tokens' bytes") {
  const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json("llama3"));
  const Ids ids = encode(*tokenizer, "日本語 text <|eot_id|>\n", {false, true});
  std::string joined, bytes;
  for (const uint32_t id : ids) {
    REQUIRE(tokenizer->token_bytes(id, &bytes).ok());
    joined += bytes;
  }
  CHECK(joined == decode(*tokenizer, ids));
  CHECK(joined == "<|begin_of_text|>日本語 text <|eot_id|>\n");
}

TEST_CASE("an id without a token is an error that says where") {
  Json json = byte_tokenizer();
  json["model"]["vocab"]["far"] = 300u;
  const TokenizerPtr tokenizer = make_tokenizer(json.dump());
  CHECK(tokenizer->vocab_size() == 301);
  std::string bytes;
  for (const uint32_t bad : {256u, 299u, 301u, 0xFFFFFFFFu}) {
    const Ids ids = {'a', 300, bad, 'b'};
    const Status status = tokenizer->decode(ids.data(), ids.size(), false, &bytes);
    CHECK(status.code() == Code::range);
    CHECK(status.row() == 2);
    CHECK(tokenizer->token_bytes(bad, &bytes).code() == Code::range);
  }
  CHECK(tokenizer->decode(nullptr, 0, false, &bytes).ok());
  CHECK(bytes.empty());
}

TEST_CASE("the largest legal id costs no memory") {
  Json json = byte_tokenizer();
  json["model"]["vocab"]["far"] = 2147483647u;
  const TokenizerPtr tokenizer = make_tokenizer(json.dump());
  CHECK(tokenizer->vocab_size() == 2147483648u);
  std::string bytes;
  CHECK(tokenizer->token_bytes(2147483647u, &bytes).ok());
  CHECK(bytes == "far");
}

TEST_CASE("tokenizer_config.json names BOS, EOS and PAD as strings or objects") {
  Json json = byte_tokenizer();
  json["added_tokens"] = {added_token("<s>", 256, true), added_token("</s>", 257, true)};
  const std::string text = json.dump();
  const TokenizerPtr both = make_tokenizer(
      text,
      R"({"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null, "model_max_length": 1e30})");
  CHECK(both->bos() == 256);
  CHECK(both->eos() == 257);
  CHECK(both->pad() == -1);
  const TokenizerPtr none = make_tokenizer(text, R"({"pad_token": "<unknown>", "bos_token": "A"})");
  CHECK(none->bos() == 'A');
  CHECK(none->eos() == -1);
  CHECK(none->pad() == -1);
  CHECK(make_tokenizer(text)->eos() == -1);
  for (const char* config : {"[]", "{", "{\"bos_token\": 1}", "{\"bos_token\": {}}", "{\"bos_token\": {\"content\": 1}}"})
    CHECK(refusal(json, config) == Code::format);
}

TEST_CASE("abacus has the ids that its configuration says") {
  const TokenizerPtr tokenizer =
      make_tokenizer(tokenizer_json("abacus"), read_file(folder("TREADLE_ABACUS") + "/tokenizer_config.json"));
  CHECK(tokenizer->vocab_size() == 384);
  CHECK(tokenizer->bos() == -1);
  CHECK(tokenizer->eos() == 0);
  CHECK(tokenizer->pad() == 1);
}

TEST_CASE("refuses files of other versions and without a model") {
  Json json = byte_tokenizer();
  CHECK(refusal(json) == Code::ok);
  json["version"] = "2.0";
  CHECK(refusal(json) == Code::unsupported);
  json.erase("version");
  CHECK(refusal(json) == Code::ok);
  json["model"] = nullptr;
  CHECK(refusal(json) == Code::format);
  CHECK(refusal(Json::array()) == Code::format);
  CHECK(text::Tokenizer::create("", "").status().code() == Code::format);
}

TEST_CASE("threads encode and decode with one tokenizer at the same time") {
  const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json("qwen"));
  const Json cases = data_json("cases.json");
  const std::vector<std::string> texts = cases["texts"];
  const std::vector<Ids> expected = cases["qwen"]["ids"];
  std::vector<uint32_t> wrong(4, 0);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t n = 0; n < texts.size(); ++n) {
        const size_t i = (n + t * 50) % texts.size();
        Ids ids;
        std::string bytes;
        if (!tokenizer->encode(texts[i], {}, &ids).ok() || ids != expected[i]) ++wrong[t];
        if (!tokenizer->decode(ids.data(), ids.size(), false, &bytes).ok()) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<uint32_t>(4, 0));
}

TEST_CASE("long texts of every kind take no quadratic time") {
  for (const char* name : {"gpt2", "qwen", "llama3"}) {
    const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json(name));
    for (const std::string piece : {"a", "ab", " ", "\n", " \n", "日", "7", "!", "'", "\u0301\u0316", "\uAC00\u11A7", "\u00A0",
                                    "<|", "<|endoftext|>", "\xFF", "a\xFF", "the quick "}) {
      std::string bytes;
      while (bytes.size() < 200000) bytes += piece;
      CHECK(!encode(*tokenizer, bytes).empty());
    }
  }
}
