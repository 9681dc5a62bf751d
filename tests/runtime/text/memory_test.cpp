// Every allocation of a tokenizer's making and use is made to fail once, in turn: the failure is std::bad_alloc or out_of_memory (or none,
// where there is another way: std::stable_sort), nothing leaks (the address sanitizer looks), and the tokenizer works afterwards.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/runtime/text/text_data.h"

namespace {

std::atomic<int64_t> left{-1};  // allocations until one fails; negative: none does

void* allocate(size_t bytes) noexcept {
  if (left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1) == 0) return nullptr;
  return std::malloc(bytes ? bytes : 1);
}

void* allocate_or_throw(size_t bytes) {
  if (void* memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

using namespace tdl;
using namespace tdl::test;

namespace {

// Runs `body` with the first, the second, ... allocation failing, until it gets through without; gives the number of failures.
template <class Body>
int64_t fail_each(Body body) {
  int64_t failures = 0;
  for (int64_t n = 0; n < 1000000; ++n) {
    bool known = true;
    left = n;
    try {
      const Status status = body();
      known = status.ok() || status.code() == Code::out_of_memory;
      failures += !status.ok();
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    const bool reached = left < 0;
    left = -1;
    REQUIRE(known);
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
  json["added_tokens"] = {added_token("<s>", 256, true)};
  const std::string file = json.dump();
  CHECK(fail_each([&] { return text::Tokenizer::create(file, "{\"bos_token\": \"<s>\"}").status(); }) > 200);
}

TEST_CASE("encoding and decoding without memory leaves a tokenizer that works") {
  const TokenizerPtr tokenizer = make_tokenizer(tokenizer_json("qwen"));
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
