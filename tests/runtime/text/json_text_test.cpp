#include "runtime/text/json_text.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace tdl;
using namespace tdl::text;

namespace {

Code code_of(std::string_view text) {
  return JsonDocument::parse(text, "x.json").status().code();
}

JsonDocument parse(std::string_view text) {
  auto parsed = JsonDocument::parse(text, "x.json");
  REQUIRE_MESSAGE(parsed.ok(), std::string(parsed.status().message()));
  return std::move(parsed).value();
}

std::string nested(size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

}  // namespace

TEST_CASE("reads every kind of JSON value") {
  const JsonDocument document =
      parse(R"({"b": {"c": false}, "a": [1, -2, 2.5, "x\u00e9\ud83d\ude00", true, null, {}, [], 18446744073709551616]})");
  const Json root = document.root();
  CHECK(root.size() == 2);
  CHECK(root.key(0) == "a");
  CHECK(root.key(1) == "b");
  CHECK(root.key(2) == "");
  const Json list = root.find("a");
  REQUIRE(list.size() == 9);
  CHECK(list[0].natural() == 1);
  CHECK(list[1].is(JsonKind::number));
  CHECK(list[2].is(JsonKind::number));
  CHECK(list[3].text() == "xé😀");
  CHECK(list[4].boolean());
  CHECK(list[5].is(JsonKind::null));
  CHECK(list[6].is(JsonKind::object));
  CHECK(list[6].size() == 0);
  CHECK(list[7].is(JsonKind::array));
  CHECK(list[8].is(JsonKind::number));
  CHECK(list[9].is(JsonKind::absent));
  CHECK(root.find("b").find("c").is(JsonKind::boolean));
  CHECK_FALSE(root.find("b").find("c").boolean());
  CHECK(parse(" 7 ").root().natural() == 7);
}

TEST_CASE("a view of another kind, or of nothing, gives nothing") {
  const JsonDocument document = parse(R"(["text", 3, null])");
  const Json root = document.root();
  CHECK(root[0].size() == 0);
  CHECK(root[0].natural() == 0);
  CHECK(root[1].text() == "");
  CHECK_FALSE(root[1].find("a"));
  CHECK_FALSE(root[2]);
  CHECK(root[1]);
  CHECK_FALSE(Json());
  CHECK(Json().find("a")[0].text() == "");
  CHECK(root.key(0) == "");
}

TEST_CASE("a document may be moved while it is looked at") {
  JsonDocument first = parse(R"({"name": "a string that is longer than a short one"})");
  const Json name = first.root().find("name");
  const JsonDocument second = std::move(first);
  CHECK(name.text() == "a string that is longer than a short one");
  CHECK(second.root().find("name").text() == name.text());
}

TEST_CASE("refuses what is not one JSON value in UTF-8, naming the file") {
  for (const char* text : {"",
                           " ",
                           "{",
                           "{\"a\"",
                           "{\"a\":}",
                           "[1,]",
                           "tru",
                           "nul",
                           "01",
                           "+1",
                           "1e999",
                           "\"",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "1 2",
                           "{} {}",
                           "'a'",
                           "[1",
                           "]",
                           "\"a\nb\"",
                           "\"\xff\"",
                           "\"\xc3\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xf4\x90\x80\x80\"",
                           "\xff"}) {
    CAPTURE(std::string(text));
    CHECK(code_of(text) == Code::format);
  }
  CHECK(code_of(std::string_view("\0", 1)) == Code::format);
  CHECK(code_of(std::string_view("7\0", 2)) == Code::format);
  const std::string message = JsonDocument::parse("[1, x]", "x.json").status().message();
  CHECK(message.find("x.json") == 0);
}

TEST_CASE("refuses an object with one key twice, at any depth") {
  CHECK(code_of(R"({"a": 1, "b": 2})") == Code::ok);
  CHECK(code_of(R"({"a": 1, "a": 1})") == Code::format);
  CHECK(code_of(R"({"a": 1, "b": 2, "c": 3, "a": 1})") == Code::format);
  CHECK(code_of(R"([{"x": {"a": 1, "\u0061": 2}}])") == Code::format);
  CHECK(code_of(R"([{"a": 1}, {"a": 1}])") == Code::ok);
  CHECK(code_of(R"({"a": {"a": {"a": 1}}})") == Code::ok);
}

TEST_CASE("reads 64 levels and refuses 65, however many more there are") {
  CHECK(code_of(nested(64)) == Code::ok);
  CHECK(code_of(nested(65)) == Code::format);
  CHECK(code_of(std::string(1000000, '[')) == Code::format);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK(code_of(objects) == Code::format);
}

TEST_CASE("refuses more values than a tokenizer can need") {
  std::string text(2 * size_t{JsonDocument::kMaxValues} + 3, ',');
  for (size_t i = 1; i < text.size(); i += 2) text[i] = '0';
  text.front() = '[';
  text.back() = ']';
  CHECK(code_of(text) == Code::limit);
}

TEST_CASE("finds each member of a large object") {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i)
    text += (i ? ",\"" : "\"") + std::to_string(i * 7919 % 5000) + "\":" + std::to_string(i * 7919 % 5000);
  const JsonDocument document = parse(text + "}");
  CHECK(document.root().size() == 5000);
  for (uint64_t i = 0; i < 5000; ++i) CHECK(document.root().find(std::to_string(i)).natural() == i);
  CHECK_FALSE(document.root().find("5000"));
}

TEST_CASE("members are read by name and type, and null counts as absent") {
  const JsonDocument document = parse(R"({"flag": true, "none": null, "text": "t", "list": [], "number": 3})");
  const Json object = document.root();
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
  Json list;
  CHECK(need_array(object, "x", "list", &list).ok());
  CHECK(need_array(object, "x", "text", &list).code() == Code::format);
}

TEST_CASE("a token id is an integer from 0 to 2^31 - 1") {
  uint32_t id = 0;
  CHECK(to_token_id(parse("2147483647").root(), "x", &id).ok());
  CHECK(id == 2147483647u);
  for (const char* text :
       {"2147483648", "4294967296", "18446744073709551616", "-1", "-0", "1.0", "1e3", "\"1\"", "null", "true", "[1]"}) {
    CAPTURE(std::string(text));
    CHECK(to_token_id(parse(text).root(), "x", &id).code() == Code::format);
  }
  CHECK(to_token_id(Json(), "x", &id).code() == Code::format);
}

TEST_CASE("a name in a message is cut between characters") {
  const std::string name = std::string(39, 'a') + "é";
  CHECK(shown(name).length == 39);
  CHECK(shown("ab").length == 2);
  CHECK(shown("a\xff").length == 1);
}
