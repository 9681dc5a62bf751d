// What the tests of runtime/text share: the committed tokenizers and cases, and small tokenizers put together in a test.
#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/byte_level.h"
#include "runtime/text/json_text.h"
#include "runtime/text/tokenizer.h"

namespace tdl::test {

using Ids = std::vector<uint32_t>;
using Json = nlohmann::json;  // to build files with; text::Json is the reader under test

// What the readers take; lives as long as what they made may point into it.
struct Parsed {
  text::JsonDocument document;
  explicit Parsed(const Json& json) {
    auto parsed = text::JsonDocument::parse(json.dump(), "test.json");
    REQUIRE_MESSAGE(parsed.ok(), std::string(parsed.status().message()));
    document = std::move(parsed).value();
  }
  text::Json root() const { return document.root(); }
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The folder that a variable of the environment names; meson sets TREADLE_TEST_DATA and TREADLE_ABACUS.
inline std::string folder(const char* variable) {
  const char* path = std::getenv(variable);
  REQUIRE_MESSAGE(path != nullptr, std::string(variable));
  return path;
}

// The committed tokenizer of that name, or abacus's.
inline std::string tokenizer_json(const std::string& name) {
  return read_file(name == "abacus" ? folder("TREADLE_ABACUS") + "/tokenizer.json"
                                    : folder("TREADLE_TEST_DATA") + "/text/" + name + ".json");
}

inline Json data_json(const std::string& name) {
  return Json::parse(read_file(folder("TREADLE_TEST_DATA") + "/text/" + name));
}

using TokenizerPtr = std::unique_ptr<const text::Tokenizer>;

inline TokenizerPtr make_tokenizer(std::string_view json, std::string_view config = {}) {
  auto made = text::Tokenizer::create(json, config);
  REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
  return std::move(made).value();
}

inline Ids encode(const text::Tokenizer& tokenizer, std::string_view bytes, text::EncodeOptions options = {}) {
  Ids ids;
  const Status status = tokenizer.encode(bytes, options, &ids);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return ids;
}

inline std::string decode(const text::Tokenizer& tokenizer, const Ids& ids, bool leave_special_out = false) {
  std::string bytes;
  const Status status = tokenizer.decode(ids.data(), ids.size(), leave_special_out, &bytes);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return bytes;
}

// The smallest legal tokenizer.json: the 256 bytes in their order as ids, no merges, ByteLevel that does not split.
inline Json byte_tokenizer() {
  Json vocab = Json::object();
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::string spelling;
    text::spell_bytes(std::string(1, static_cast<char>(byte)), &spelling);
    vocab[spelling] = byte;
  }
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
}

inline Json added_token(const std::string& content, uint32_t id, bool special = false) {
  return {{"id", id},        {"content", content}, {"special", special}, {"single_word", false},
          {"lstrip", false}, {"rstrip", false},    {"normalized", false}};
}

}  // namespace tdl::test
