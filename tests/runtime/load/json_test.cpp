#include "runtime/load/json.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace tdl;

namespace {

Status parse_status(std::string_view text) { return JsonDocument::parse(text, "x.json").status(); }

bool refused(std::string_view text, const char* part) {
  const Status status = parse_status(text);
  CAPTURE(std::string(text));
  CAPTURE(std::string(status.message()));
  CHECK(status.code() == Code::format);
  CHECK(std::string(status.message()).find("'x.json'") == 0);
  CHECK(std::string(status.message()).find(part) != std::string::npos);
  return status.code() == Code::format;
}

}  // namespace

TEST_SUITE("json") {
  TEST_CASE("gives every kind of value back") {
    const Result<JsonDocument> document = JsonDocument::parse(
        R"( {"n": null, "t": true, "f": false, "i": 7, "big": 18446744073709551615, "neg": -7, "r": 1.5, "e": 1e2,
             "s": "a\u00e9\n\"", "a": [1, [2, 3], {"x": 4}], "o": {}, "": 0} )", "x.json");
    REQUIRE(document.ok());
    const JsonValue root = document.value().root();
    CHECK(root.is(JsonKind::object));
    CHECK(root.size() == 12);
    CHECK(root.find("n").is(JsonKind::null));
    CHECK(root.find("t").boolean());
    CHECK(root.find("f").is(JsonKind::boolean));
    CHECK_FALSE(root.find("f").boolean());
    CHECK(root.find("i").natural() == 7);
    CHECK(root.find("big").natural() == UINT64_MAX);
    CHECK(root.find("neg").is(JsonKind::negative));
    CHECK(root.find("neg").number() == -7);
    CHECK(root.find("r").number() == 1.5);
    CHECK(root.find("e").is(JsonKind::real));
    CHECK(root.find("s").text() == "a\xC3\xA9\n\"");
    const JsonValue list = root.find("a");
    CHECK(list.size() == 3);
    CHECK(list[0].natural() == 1);
    CHECK(list[1][1].natural() == 3);
    CHECK(list[2].find("x").natural() == 4);
    CHECK(list[3].is(JsonKind::absent));
    CHECK(root.find("o").is(JsonKind::object));
    CHECK(root.find("o").size() == 0);
    CHECK(root.find("").natural() == 0);
    CHECK(root.find("missing").is(JsonKind::absent));
    CHECK(root.find("i").find("x").is(JsonKind::absent));
    CHECK(root.find("s").natural() == 0);
    CHECK(JsonValue().is(JsonKind::absent));
  }

  TEST_CASE("keeps arrays in order and objects by key") {
    const Result<JsonDocument> document = JsonDocument::parse(R"({"b": [3, 1, 2], "a": 0, "c": {"z": 1, "y": 2}})", "x.json");
    REQUIRE(document.ok());
    const JsonValue root = document.value().root();
    CHECK(root.key(0) == "a");
    CHECK(root.key(1) == "b");
    CHECK(root.key(2) == "c");
    CHECK(root[1][0].natural() == 3);
    CHECK(root[1][2].natural() == 2);
    CHECK(root[2].key(0) == "y");
    CHECK(root[2][0].natural() == 2);
    CHECK(root[1].key(0).empty());
  }

  TEST_CASE("values stay valid when their document moves") {
    Result<JsonDocument> parsed = JsonDocument::parse(R"({"k": "v"})", "x.json");
    REQUIRE(parsed.ok());
    const JsonValue value = parsed.value().root().find("k");
    const JsonDocument moved = std::move(parsed).value();
    CHECK(value.text() == "v");
    CHECK(moved.root().find("k").text() == "v");
  }

  TEST_CASE("refuses what is not one JSON text, with the byte where it ends to be one") {
    refused("", "at byte 0");
    refused("   ", "at byte 3");
    refused("{", "at byte 1");
    refused("[1,]", "at byte 4");
    refused("[1] x", "at byte 5");
    refused("{}{}", "at byte 3");
    refused("{'a': 1}", "at byte");
    refused("[01]", "at byte");
    refused("[+1]", "at byte");
    refused("// comment\n1", "at byte");
    refused(std::string_view("[1]\0", 4), "at byte 3: NUL");
    refused(std::string_view("[1]\0{\"more\": 1}", 15), "at byte 3: NUL");
    refused(std::string_view("[1,\0 2]", 7), "at byte 3: NUL");
    refused("\"a\tb\"", "control character");
    refused("\"\\x\"", "at byte");
  }

  TEST_CASE("refuses a key twice in one object, however far apart, and names it") {
    refused(R"({"a": 1, "a": 2})", "at byte 12: the key 'a' is there twice");
    refused(R"({"x": {"b": 1, "a": 0, "b": {"b": 1}}})", "'b'");
    refused(R"({"a": 1, "\u0061": 2})", "'a'");
    CHECK(parse_status(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})").ok());
  }

  TEST_CASE("refuses invalid UTF-8 and lone surrogates") {
    refused("\"\xFF\"", "UTF-8");
    refused("\"\xC0\xAF\"", "UTF-8");
    refused("{\"\xED\xA0\x80\": 1}", "UTF-8");
    refused(R"("\ud800")", "surrogate");
    refused(R"("\udc00x")", "surrogate");
    CHECK(parse_status(R"("\ud83d\ude00")").ok());
  }

  TEST_CASE("refuses numbers that are none, or that a double cannot hold") {
    refused("[NaN]", "at byte");
    refused("[Infinity]", "at byte");
    refused("[1e999]", "number overflow");
    refused("[-1e999]", "number overflow");
    refused("[1" + std::string(400, '0') + "]", "number overflow");
    const Result<JsonDocument> wide = JsonDocument::parse("[18446744073709551616, -0, 1e-999]", "x.json");
    REQUIRE(wide.ok());
    CHECK(wide.value().root()[0].is(JsonKind::real));
    CHECK(wide.value().root()[1].is(JsonKind::negative));
    CHECK(wide.value().root()[2].number() == 0);
  }

  TEST_CASE("reads 64 levels and refuses 65") {
    const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(parse_status(nested(64)).ok());
    refused(nested(65), "at byte 65: nested too deep");
    refused(std::string(1000000, '['), "nested too deep");
    std::string objects;
    for (int i = 0; i < 65; ++i) objects += "{\"a\":";
    refused(objects, "nested too deep");
  }

  TEST_CASE("refuses more values than it would keep") {
    const auto status = [](const char* text) { return JsonDocument::parse(text, "x.json", 4).status(); };
    CHECK(status("[0,[0]]").ok());
    CHECK(status(R"({"a":0,"b":1,"c":2})").ok());
    for (const char* text : {"[0,[0],0]", "[[[[[]]]]]", R"({"a":0,"b":1,"c":2,"d":3})"}) {
      CHECK(status(text).code() == Code::format);
      CHECK(std::string(status(text).message()).find("too many values") != std::string::npos);
    }
  }

  TEST_CASE("does not repeat the text's bytes in its message") {
    const Status status = parse_status("{\"key\x01\x1B[31m\": 1}");
    CHECK(status.code() == Code::format);
    for (const char* c = status.message(); *c; ++c) CHECK(static_cast<unsigned char>(*c) >= 0x20);
    refused("[1" + std::string(400, '7') + "]", "number overflow");
  }
}
