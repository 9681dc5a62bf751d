// treadle-text through its C ABI: sizes asked for, refusals that change nothing, old and new callers, threads.
#include "treadle/text.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

struct CloseTokenizer {
  void operator()(tdl_tokenizer* tokenizer) const { tdl_tokenizer_destroy(tokenizer); }
};
using TokenizerHandle = std::unique_ptr<tdl_tokenizer, CloseTokenizer>;

SourceHandle source_of(const std::string& directory) {
  tdl_source* source = nullptr;
  REQUIRE(tdl_source_create(&source, nullptr) == TDL_OK);
  SourceHandle owner(source);
  if (!directory.empty()) REQUIRE(tdl_source_add_directory(source, directory.data(), directory.size(), nullptr) == TDL_OK);
  return owner;
}

TokenizerHandle abacus() {
  const SourceHandle source = source_of(abacus_path() + "/model");
  tdl_tokenizer* tokenizer = nullptr;
  Error error;
  REQUIRE_MESSAGE(tdl_tokenizer_create(source.get(), &tokenizer, &error) == TDL_OK, std::string(error.message));
  return TokenizerHandle(tokenizer);
}

// What create answers to files in memory; an empty one is not there.
tdl_status create_from(const std::string& tokenizer_json, const std::string& config_json, Error* error) {
  const SourceHandle source = source_of("");
  if (!tokenizer_json.empty())
    REQUIRE(tdl_source_add_memory(source.get(), "tokenizer.json", 14, tokenizer_json.data(), tokenizer_json.size(), nullptr) ==
            TDL_OK);
  if (!config_json.empty())
    REQUIRE(tdl_source_add_memory(source.get(), "tokenizer_config.json", 21, config_json.data(), config_json.size(), nullptr) ==
            TDL_OK);
  tdl_tokenizer* tokenizer = nullptr;
  const tdl_status status = tdl_tokenizer_create(source.get(), &tokenizer, error);
  CHECK((tokenizer != nullptr) == (status == TDL_OK));
  tdl_tokenizer_destroy(tokenizer);
  return status;
}

std::vector<uint32_t> encode(const tdl_tokenizer* tokenizer, const std::string& text, uint32_t flags = 0) {
  std::vector<uint32_t> tokens(text.size() + 16);
  size_t count = 0;
  REQUIRE(tdl_tokenizer_encode(tokenizer, text.data(), text.size(), flags, tokens.data(), tokens.size(), &count, nullptr) ==
          TDL_OK);
  tokens.resize(count);
  return tokens;
}

std::string decode(const tdl_tokenizer* tokenizer, const std::vector<uint32_t>& tokens, uint32_t flags = 0) {
  size_t length = 0;
  const tdl_status asked = tdl_tokenizer_decode(tokenizer, tokens.data(), tokens.size(), flags, nullptr, 0, &length, nullptr);
  REQUIRE(asked == (length ? TDL_E_BUFFER_TOO_SMALL : TDL_OK));
  std::string text(length, '\0');
  REQUIRE(tdl_tokenizer_decode(tokenizer, tokens.data(), tokens.size(), flags, text.data(), text.size(), &length, nullptr) ==
          TDL_OK);
  CHECK(length == text.size());
  return text;
}

}  // namespace

TEST_CASE("abacus's tokenizer says what it is and takes text there and back") {
  const TokenizerHandle tokenizer = abacus();
  tdl_tokenizer_info info;
  tdl_tokenizer_info_init(&info, sizeof info);
  REQUIRE(tdl_tokenizer_get_info(tokenizer.get(), &info, nullptr) == TDL_OK);
  CHECK(info.vocab_size == 384);
  CHECK(info.bos == -1);
  CHECK(info.eos == 0);
  CHECK(info.pad == 1);
  CHECK(encode(tokenizer.get(), "17 + 25 =") == std::vector<uint32_t>{18, 24, 260, 222, 19, 22, 258});
  CHECK(encode(tokenizer.get(), "").empty());
  for (const std::string text : {"17 + 25 = forty-two", "", " \n\t", "é日本😀", "\xFF\xC3(\x80", "<|endoftext|>"})
    CHECK(decode(tokenizer.get(), encode(tokenizer.get(), text)) == text);
}

TEST_CASE("special tokens are recognised or data, kept or left out") {
  const TokenizerHandle tokenizer = abacus();
  const std::string text = "1<|endoftext|>2";
  const std::vector<uint32_t> marked = encode(tokenizer.get(), text), data = encode(tokenizer.get(), text, TDL_TEXT_NO_SPECIAL);
  CHECK(marked.size() == 3);
  CHECK(marked[1] == 0);
  CHECK(data.size() > 3);
  for (const uint32_t token : data) CHECK(token > 1);
  CHECK(decode(tokenizer.get(), marked) == text);
  CHECK(decode(tokenizer.get(), marked, TDL_TEXT_NO_SPECIAL) == "12");
  CHECK(decode(tokenizer.get(), data, TDL_TEXT_NO_SPECIAL) == text);
}

TEST_CASE("a tokenizer of characters gives a stream its bytes, and a whole text without the space before it") {
  const std::string path = data_path("text/llama2.json");
  std::ifstream file(path, std::ios::binary);
  const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const SourceHandle source = source_of("");
  REQUIRE(tdl_source_add_memory(source.get(), "tokenizer.json", 14, json.data(), json.size(), nullptr) == TDL_OK);
  tdl_tokenizer* made = nullptr;
  REQUIRE(tdl_tokenizer_create(source.get(), &made, nullptr) == TDL_OK);
  const TokenizerHandle tokenizer(made);
  const std::string text = "the 🧿\xFF";
  const std::vector<uint32_t> tokens = encode(tokenizer.get(), text);
  std::string stream;
  for (const uint32_t token : tokens) {
    char bytes[64];
    size_t length = 0;
    REQUIRE(tdl_tokenizer_token_bytes(tokenizer.get(), token, bytes, sizeof bytes, &length, nullptr) == TDL_OK);
    stream.append(bytes, length);
  }
  CHECK(stream == " " + text);
  CHECK(decode(tokenizer.get(), tokens) == text);
}

TEST_CASE("the post-processor's tokens are added when that is asked for, and read from a range of another file") {
  std::ifstream file(data_path("text/llama3.json"), std::ios::binary);
  const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string path = data_path("text/llama3.json");
  const SourceHandle source = source_of("");
  REQUIRE(tdl_source_add_range(source.get(), "tokenizer.json", 14, path.data(), path.size(), 0, json.size(), nullptr) == TDL_OK);
  tdl_tokenizer* made = nullptr;
  REQUIRE(tdl_tokenizer_create(source.get(), &made, nullptr) == TDL_OK);
  const TokenizerHandle tokenizer(made);
  const std::vector<uint32_t> plain = encode(tokenizer.get(), "Hi"), wrapped = encode(tokenizer.get(), "Hi", TDL_TEXT_ADD_SPECIAL);
  REQUIRE(wrapped.size() == plain.size() + 1);
  CHECK(std::vector<uint32_t>(wrapped.begin() + 1, wrapped.end()) == plain);
  CHECK(decode(tokenizer.get(), wrapped) == "<|begin_of_text|>Hi");
  CHECK(decode(tokenizer.get(), wrapped, TDL_TEXT_NO_SPECIAL) == "Hi");
}

TEST_CASE("a buffer that is too small is left alone, and the size is told") {
  const TokenizerHandle tokenizer = abacus();
  const std::string text = "17 + 25 =";
  uint32_t tokens[7] = {99, 99, 99, 99, 99, 99, 99};
  size_t count = 12345;
  Error error;
  CHECK(tdl_tokenizer_encode(tokenizer.get(), text.data(), text.size(), 0, tokens, 6, &count, &error) == TDL_E_BUFFER_TOO_SMALL);
  CHECK(count == 7);
  CHECK(error.required == 7);
  for (const uint32_t token : tokens) CHECK(token == 99);
  CHECK(tdl_tokenizer_encode(tokenizer.get(), text.data(), text.size(), 0, nullptr, 0, &count, nullptr) == TDL_E_BUFFER_TOO_SMALL);
  CHECK(tdl_tokenizer_encode(tokenizer.get(), text.data(), text.size(), 0, tokens, 7, &count, nullptr) == TDL_OK);
  CHECK(tokens[0] == 18);

  char bytes[9] = "xxxxxxxx";
  size_t length = 0;
  CHECK(tdl_tokenizer_decode(tokenizer.get(), tokens, 7, 0, bytes, 8, &length, &error) == TDL_E_BUFFER_TOO_SMALL);
  CHECK(length == 9);
  CHECK(std::string(bytes) == "xxxxxxxx");
  CHECK(tdl_tokenizer_decode(tokenizer.get(), tokens, 7, 0, bytes, 9, &length, nullptr) == TDL_OK);
  CHECK(std::string(bytes, length) == text);
  CHECK(tdl_tokenizer_encode(tokenizer.get(), nullptr, 0, 0, nullptr, 0, &count, nullptr) == TDL_OK);
  CHECK(count == 0);
  CHECK(tdl_tokenizer_decode(tokenizer.get(), nullptr, 0, 0, nullptr, 0, &length, nullptr) == TDL_OK);
  CHECK(length == 0);
}

TEST_CASE("one token's bytes are told, special ones by their content") {
  const TokenizerHandle tokenizer = abacus();
  char bytes[32];
  size_t length = 0;
  REQUIRE(tdl_tokenizer_token_bytes(tokenizer.get(), 260, bytes, sizeof bytes, &length, nullptr) == TDL_OK);
  CHECK(std::string(bytes, length) == " +");
  REQUIRE(tdl_tokenizer_token_bytes(tokenizer.get(), 0, bytes, sizeof bytes, &length, nullptr) == TDL_OK);
  CHECK(std::string(bytes, length) == "<|endoftext|>");
  CHECK(tdl_tokenizer_token_bytes(tokenizer.get(), 0, bytes, 12, &length, nullptr) == TDL_E_BUFFER_TOO_SMALL);
  CHECK(length == 13);
  Error error;
  CHECK(tdl_tokenizer_token_bytes(tokenizer.get(), 384, bytes, sizeof bytes, &length, &error) == TDL_E_RANGE);
  CHECK(length == 13);
}

TEST_CASE("a token that is none is refused with its index") {
  const TokenizerHandle tokenizer = abacus();
  const uint32_t tokens[] = {5, 6, 384, 7};
  size_t length = 77;
  Error error;
  CHECK(tdl_tokenizer_decode(tokenizer.get(), tokens, 4, 0, nullptr, 0, &length, &error) == TDL_E_RANGE);
  CHECK(error.row == 2);
  CHECK(length == 77);
}

TEST_CASE("refuses null where it is not allowed, and flags that it does not know") {
  const TokenizerHandle tokenizer = abacus();
  const SourceHandle source = source_of(abacus_path() + "/model");
  uint32_t token = 5;
  size_t count = 7;
  char byte = 0;
  tdl_tokenizer* out = nullptr;
  Error error;
  CHECK(tdl_tokenizer_create(nullptr, &out, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_create(source.get(), nullptr, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_get_info(nullptr, nullptr, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_get_info(tokenizer.get(), nullptr, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_encode(nullptr, "a", 1, 0, &token, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_encode(tokenizer.get(), nullptr, 1, 0, &token, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_encode(tokenizer.get(), "a", 1, 0, nullptr, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_encode(tokenizer.get(), "a", 1, 0, &token, 1, nullptr, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_encode(tokenizer.get(), "a", 1, 4, &token, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_decode(nullptr, &token, 1, 0, &byte, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_decode(tokenizer.get(), nullptr, 1, 0, &byte, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_decode(tokenizer.get(), &token, 1, 0, nullptr, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_decode(tokenizer.get(), &token, 1, TDL_TEXT_ADD_SPECIAL, &byte, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_token_bytes(nullptr, 5, &byte, 1, &count, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(tdl_tokenizer_token_bytes(tokenizer.get(), 5, &byte, 1, nullptr, &error) == TDL_E_INVALID_ARGUMENT);
  CHECK(count == 7);
  CHECK(token == 5);
  tdl_tokenizer_destroy(nullptr);
}

TEST_CASE("information is written as far as the caller's struct goes") {
  const TokenizerHandle tokenizer = abacus();
  struct {
    tdl_tokenizer_info info;
    uint32_t more[2];
  } large;
  std::memset(&large, 0, sizeof large);
  large.info.struct_size = sizeof large;
  CHECK(tdl_tokenizer_get_info(tokenizer.get(), &large.info, nullptr) == TDL_OK);
  CHECK(large.info.struct_size == sizeof large);
  CHECK(large.info.eos == 0);
  large.more[1] = 1;
  CHECK(tdl_tokenizer_get_info(tokenizer.get(), &large.info, nullptr) == TDL_E_VERSION);
  tdl_tokenizer_info small;
  std::memset(&small, 0x55, sizeof small);
  small.struct_size = offsetof(tdl_tokenizer_info, eos);
  CHECK(tdl_tokenizer_get_info(tokenizer.get(), &small, nullptr) == TDL_OK);
  CHECK(small.vocab_size == 384);
  CHECK(small.bos == -1);
  CHECK(small.eos == 0x55555555);
  small.struct_size = 0;
  CHECK(tdl_tokenizer_get_info(tokenizer.get(), &small, nullptr) == TDL_E_INVALID_ARGUMENT);
}

TEST_CASE("files that are missing, malformed or of another kind are told apart") {
  const std::string good =
      R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}, "decoder": {"type": "ByteLevel"},
                               "model": {"type": "BPE", "vocab": {"a": 0, "<s>": 1}, "merges": []}})";
  Error error;
  CHECK(create_from(good, "", &error) == TDL_OK);
  CHECK(create_from(good, R"({"bos_token": "<s>"})", &error) == TDL_OK);
  CHECK(create_from("", "{}", &error) == TDL_E_NOT_FOUND);
  CHECK(create_from("{", "", &error) == TDL_E_FORMAT);
  CHECK(std::string(error.message).find("tokenizer.json") != std::string::npos);
  CHECK(create_from(good, "[]", &error) == TDL_E_FORMAT);
  CHECK(std::string(error.message).find("tokenizer_config.json") != std::string::npos);
  std::string other = good;
  other.replace(other.find("BPE"), 3, "Unigram");
  CHECK(create_from(other, "", &error) == TDL_E_UNSUPPORTED);
  CHECK(std::string(error.message).find("Unigram") != std::string::npos);
}

TEST_CASE("four threads use one tokenizer at the same time") {
  const TokenizerHandle tokenizer = abacus();
  const std::string text = "17 + 25 = forty-two, and 日本語 as well <|endoftext|>\n";
  const std::vector<uint32_t> expected = encode(tokenizer.get(), text);
  int wrong[4] = {};
  std::vector<std::thread> threads;
  for (int& faults : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        uint32_t tokens[128];
        char bytes[256];
        size_t count = 0, length = 0;
        if (tdl_tokenizer_encode(tokenizer.get(), text.data(), text.size(), 0, tokens, 128, &count, nullptr) != TDL_OK) ++faults;
        if (std::vector<uint32_t>(tokens, tokens + count) != expected) ++faults;
        if (tdl_tokenizer_decode(tokenizer.get(), tokens, count, 0, bytes, sizeof bytes, &length, nullptr) != TDL_OK) ++faults;
        if (std::string(bytes, length) != text) ++faults;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int faults : wrong) CHECK(faults == 0);
}
