// Files that nobody vouches for: whatever is in them, create answers with a status, and a tokenizer that it makes works without
// faults.
#include <cstdio>
#include <random>

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

// A small file with something of everything.
Json rich_tokenizer() {
  Json json = byte_tokenizer();
  json["added_tokens"] = {added_token("<s>", 259, true), added_token("<é>", 260)};
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers",
                         {{{"type", "NFC"}},
                          {{"type", "Replace"}, {"pattern", {{"String", "zz"}}}, {"content", "y"}},
                          {{"type", "Prepend"}, {"prepend", "p"}}}}};
  json["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Split"},
                              {"pattern", {{"Regex", " ?\\p{L}+|\\s+(?!\\S)|[^a-c[\\s]]"}}},
                              {"behavior", "Isolated"},
                              {"invert", false}},
                             {{"type", "Digits"}, {"individual_digits", true}},
                             {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}}}}};
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "s"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"special_tokens", {{"s", {{"id", "s"}, {"ids", Json::array({259u})}, {"tokens", Json::array({"<s>"})}}}}}};
  json["decoder"] = {{"type", "Sequence"}, {"decoders", {{{"type", "ByteLevel"}}, {{"type", "Fuse"}}}}};
  for (const char* token : {"ab", "abc", "\u0120a"})
    json["model"]["vocab"][token] = static_cast<uint32_t>(json["model"]["vocab"].size());
  json["model"]["merges"] = {"a b", {"ab", "c"}, "\u0120 a"};
  for (const char* absent : {"unk_token", "dropout", "continuing_subword_prefix"}) json["model"][absent] = nullptr;
  return json;
}

// And one with something of everything that files of characters have.
Json rich_character_tokenizer() {
  const auto under = [](const char* scheme) {
    return Json{{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}, {"split", true}};
  };
  const auto replace = [](const char* pattern, const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
  };
  Json json = rich_tokenizer();
  json["normalizer"] = replace("zz", "y\u2581");
  json["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, under("first")}}};
  json["decoder"] = {{"type", "Sequence"},
                     {"decoders",
                      {replace("_", " "),
                       under("first"),
                       {{"type", "ByteFallback"}},
                       {{"type", "Fuse"}},
                       {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  Json vocab = {{"<unk>", 259}, {"a", 256}, {"\u2581", 257}, {"\u2581a", 258}, {"_", 254}};
  for (const uint32_t byte : {0xC3u, 0xA9u, 0xFFu, 0x0Au}) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    vocab[name] = byte;
  }
  json["added_tokens"] = {added_token("<unk>", 259, true), added_token("<é>", 260)};
  json["model"] = {{"type", "BPE"},         {"vocab", vocab},        {"merges", Json::array({"\u2581 a"})},
                   {"byte_fallback", true}, {"fuse_unk", true},      {"dropout", nullptr},
                   {"unk_token", "<unk>"},  {"ignore_merges", false}};
  return json;
}

std::vector<Json> rich_tokenizers() {
  return {rich_tokenizer(), rich_character_tokenizer()};
}

// What create answers; a tokenizer that it makes is used.
Code try_file(std::string_view file) {
  auto made = text::Tokenizer::create(file, "");
  if (!made.ok()) {
    CHECK(made.status().message()[0] != '\0');
    return made.status().code();
  }
  Ids ids;
  const Status status = made.value()->encode("abc é<s> zz 12\n\xFF<é>", {false, true}, &ids);
  const bool known = status.ok() || status.code() == Code::limit || status.code() == Code::unsupported;
  CHECK_MESSAGE(known, std::string(status.message()));
  std::string bytes;
  if (status.ok()) CHECK(made.value()->decode(ids.data(), ids.size(), true, &bytes).ok());
  return Code::ok;
}

void check_answer(std::string_view file) {
  const Code code = try_file(file);
  const bool known = code == Code::ok || code == Code::format || code == Code::unsupported || code == Code::limit;
  CHECK_MESSAGE(known, static_cast<int>(code));
}

void collect(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>* places) {
  places->push_back(at);
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      if (at.to_string() != "/model/vocab" || name.size() > 1) collect(value, at / name, places);
    }
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) collect(json[i], at / i, places);
  }
}

}  // namespace

TEST_CASE("the file that the mutations start from is good") {
  for (const Json& rich : rich_tokenizers()) CHECK(try_file(rich.dump()) == Code::ok);
}

namespace {

void check_any_value_in_any_place(const Json& rich) {
  std::vector<Json::json_pointer> places;
  collect(rich, Json::json_pointer(), &places);
  REQUIRE(places.size() > 70);
  const Json values = {nullptr,
                       true,
                       0,
                       -1,
                       1.5,
                       1e300,
                       2147483647u,
                       2147483648u,
                       18446744073709551615u,
                       "",
                       "a",
                       "\u0120",
                       "ByteLevel",
                       "(",
                       std::string(5000, 'x'),
                       Json::array(),
                       Json::object(),
                       Json::array({Json::array()}),
                       Json::object({{"type", 1}}),
                       Json::object({{"type", "Sequence"}})};
  for (const Json::json_pointer& place : places) {
    CAPTURE(place.to_string());
    for (const Json& value : values) {
      Json changed = rich;
      changed[place] = value;
      check_answer(changed.dump());
    }
    if (place.empty() || rich[place.parent_pointer()].is_array()) continue;
    Json without = rich;
    without[place.parent_pointer()].erase(place.back());
    check_answer(without.dump());
  }
}

}  // namespace

TEST_CASE("any value in any place is answered with a status") {
  for (const Json& rich : rich_tokenizers()) check_any_value_in_any_place(rich);
}

TEST_CASE("a file that is cut anywhere is malformed") {
  for (const Json& rich : rich_tokenizers()) {
    const std::string file = rich.dump();
    for (size_t length = 0; length < file.size(); length += 7)
      CHECK(try_file(std::string_view(file).substr(0, length)) == Code::format);
  }
}

TEST_CASE("changed bytes are answered with a status") {
  const std::string files[] = {rich_tokenizer().dump(), rich_character_tokenizer().dump()};
  std::mt19937 random(3);
  for (int i = 0; i < 6000; ++i) {
    std::string changed = files[i % 2];
    for (uint32_t n = 1 + random() % 4; n > 0; --n) {
      const size_t at = random() % changed.size();
      if (random() % 3 == 0)
        changed.erase(at, 1 + random() % 8);
      else
        changed[at] = random() % 2 ? static_cast<char>(random() % 256) : "{}[]\",:0\\eu"[random() % 11];
    }
    check_answer(changed);
  }
}

TEST_CASE("patterns of random pieces compile or are refused, and end") {
  static const char* const kPieces[] = {"a",    "\\p{L}", "\\s",  "\\S", "[",   "]",  "(",  ")",   "(?:",     "(?=",  "(?!",
                                        "(?<=", "(?>",    "(?i:", "|",   "*",   "+",  "?",  "{2}", "{1,3}",   "{,2}", "^",
                                        "$",    ".",      "-",    "é",   "\\d", "&&", "\\", "[^",  "\\p{Han}"};
  std::mt19937 random(4);
  int made = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string pattern;
    for (uint32_t n = 1 + random() % 9; n > 0; --n) pattern += kPieces[random() % std::size(kPieces)];
    CAPTURE(pattern);
    auto regex = text::Regex::compile(pattern);
    if (!regex.ok()) {
      const bool known = regex.status().code() == Code::format || regex.status().code() == Code::unsupported;
      CHECK(known);
      continue;
    }
    ++made;
    text::RegexScratch scratch;
    std::vector<text::Match> matches;
    CHECK(regex
              ->find_all("aé 日 aa\n12\xFF"
                         "a-&",
                         &scratch, &matches)
              .ok());
  }
  CHECK(made > 1000);
}
