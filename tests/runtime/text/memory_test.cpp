// Every allocation of a tokenizer's making and use is made to fail once, in turn: the failure is std::bad_alloc or out_of_memory
// (or none, where there is another way: std::stable_sort), nothing leaks (the address sanitizer looks), and the tokenizer works
// afterwards.
#include <new>

#include "tests/capi/failing_new.h"
#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

// Runs `body` with the first, the second, ... allocation failing, until it gets through without; gives the number of failures.
template <class Body>
int fail_each(Body body) {
  int failures = 0;
  for (long n = 1; n < 1000000; ++n) {
    bool reached = false;
    std::string message;  // of a failure that is not one of memory
    try {
      const FailingNew failing(n);
      const Status status = body();
      reached = failing.hit();
      failures += !status.ok();
      if (!status.ok() && status.code() != Code::out_of_memory) message = status.message();
    } catch (const std::bad_alloc&) {
      reached = true;
      ++failures;
    }
    CAPTURE(n);
    REQUIRE(message == "");
    if (!reached) return failures;
  }
  FAIL("it never gets through");
  return failures;
}

}  // namespace

TEST_CASE("a tokenizer that cannot have its memory is refused, wherever that shows") {
  Json json = byte_tokenizer();
  json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"]["use_regex"] = true;
  json["added_tokens"] = Json::array({added_token("<s>", 256, true)});
  const std::string file = json.dump();
  CHECK(fail_each([&] { return text::Tokenizer::create(file, "{\"bos_token\": \"<s>\"}").status(); }) > 100);
  Json characters = Json::parse(tokenizer_json("mistral"));
  Json& vocab = characters["model"]["vocab"];
  for (auto token = vocab.begin(); token != vocab.end();) token = token.value() < 40 ? ++token : vocab.erase(token);
  characters["model"]["merges"] = Json::array();
  const std::string small = characters.dump();
  CHECK(fail_each([&] { return text::Tokenizer::create(small, "").status(); }) > 30);
}

TEST_CASE("encoding and decoding without memory leaves a tokenizer that works") {
  for (const char* name : {"qwen", "llama2", "mistral"}) {
    const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json(name));
    const std::string bytes = "e\u0301 text of words <|im_end|> 日本語, and a very long enough one\xFF";
    const Ids expected = encode(*tokenizer, bytes);
    CHECK(fail_each([&] {
            Ids ids;
            return tokenizer->encode(bytes, {}, &ids);
          }) > 10);
    CHECK(fail_each([&] {
            std::string text;
            return tokenizer->decode(expected.data(), expected.size(), false, &text);
          }) > 1);
    CHECK(encode(*tokenizer, bytes) == expected);
  }
}
