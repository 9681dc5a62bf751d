#include "runtime/text/json_text.h"

#include <doctest/doctest.h>

#include <string>

using namespace tdl;
using namespace tdl::text;

namespace {

Code code_of(std::string_view text) { return parse_json(text, "x.json").status().code(); }

std::string nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

}  // namespace

TEST_CASE("reads every kind of JSON value") {
  const auto parsed = parse_json(R"({"a": [1, -2, 2.5, "x\u00e9\ud83d\ude00", true, null, {}], "b": {"c": false}})", "x.json");
  REQUIRE(parsed.ok());
  CHECK(parsed.value() == Json::parse(R"({"b": {"c": false}, "a": [1, -2, 2.5, "xé😀", true, null, {}]})"));
  CHECK(parse_json(" 7 ", "x.json").ok());
}

TEST_CASE("refuses what is not one JSON value in UTF-8, naming the file") {
  for (const char* text : {"", " ", "{", "{\"a\"", "{\"a\":}", "[1,]", "tru", "nul", "01", "+1", "1e999", "\"", "\"\\x\"", "\"\\ud800\"", "1 2", "{} {}", "'a'", "[1", "]", "\"a\nb\"",
                           "\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\xff"}) {
    CAPTURE(std::string(text));
    CHECK(code_of(text) == Code::format);
  }
  CHECK(code_of(std::string_view("\0", 1)) == Code::format);
  const Status status = parse_json("[1, x]", "x.json").status();
  CHECK(std::string(status.message()).find("x.json") == 0);
}

TEST_CASE("refuses an object with one key twice, at any depth") {
  CHECK(code_of(R"({"a": 1, "b": 2})") == Code::ok);
  CHECK(code_of(R"({"a": 1, "a": 1})") == Code::format);
  CHECK(code_of(R"([{"x": {"a": 1, "\u0061": 2}}])") == Code::format);
  CHECK(code_of(R"([{"a": 1}, {"a": 1}])") == Code::ok);
}

TEST_CASE("reads 64 levels and refuses 65, however many more there are") {
  CHECK(code_of(nested(64)) == Code::ok);
  CHECK(code_of(nested(65)) == Code::format);
  CHECK(code_of(std::string(1000000, '[')) == Code::format);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK(code_of(objects) == Code::format);
}

TEST_CASE("fields are found by name and type, and null counts as absent") {
  const Json object = Json::parse(R"({"flag": true, "none": null, "text": "t", "list": [], "number": 3})");
  CHECK(find(object, "none") == nullptr);
  CHECK(find(object, "missing") == nullptr);
  CHECK(find(Json(3), "flag") == nullptr);
  bool flag = false;
  CHECK(read_bool(object, "x", "flag", false, &flag).ok());
  CHECK(flag);
  CHECK(read_bool(object, "x", "none", true, &flag).ok());
  CHECK(flag);
  CHECK(read_bool(object, "x", "number", true, &flag).code() == Code::format);
  CHECK(need_bool(object, "x", "none", &flag).code() == Code::format);
  std::string_view string;
  CHECK(read_string(object, "x", "text", &string).ok());
  CHECK(string == "t");
  CHECK(read_string(object, "x", "list", &string).code() == Code::format);
  CHECK(need_string(object, "x", "missing", &string).code() == Code::format);
  const Json* list = nullptr;
  CHECK(need_array(object, "x", "list", &list).ok());
  CHECK(need_array(object, "x", "text", &list).code() == Code::format);
}

TEST_CASE("a token id is an integer from 0 to 2^31 - 1") {
  uint32_t id = 0;
  CHECK(to_token_id(Json::parse("2147483647"), "x", &id).ok());
  CHECK(id == 2147483647u);
  for (const char* text : {"2147483648", "4294967296", "18446744073709551616", "-1", "-0", "1.0", "1e3", "\"1\"", "null", "true", "[1]"}) {
    CAPTURE(std::string(text));
    CHECK(to_token_id(Json::parse(text), "x", &id).code() == Code::format);
  }
}

TEST_CASE("a name in a message is cut between characters") {
  const std::string name = std::string(39, 'a') + "é";
  CHECK(shown(name).length == 39);
  CHECK(shown("ab").length == 2);
  CHECK(shown("a\xff").length == 1);
}
