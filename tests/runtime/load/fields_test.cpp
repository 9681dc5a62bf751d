#include "runtime/load/fields.h"

#include <doctest/doctest.h>

#include <string>

using namespace tdl;

namespace {

struct Parsed {
  explicit Parsed(const char* text) : document(JsonDocument::parse(text, "x.json")), fields("x.json", document.value().root()) {}
  Result<JsonDocument> document;
  Fields fields;
};

}  // namespace

TEST_SUITE("fields") {
  TEST_CASE("reads each type") {
    const Parsed p(R"({"i": 4294967295, "r": -1.5, "n": 3, "b": true, "s": "text"})");
    uint32_t i = 0;
    double r = 0, n = 0;
    bool b = false;
    std::string s;
    CHECK(p.fields.require("i", &i).ok());
    CHECK(p.fields.require("r", &r).ok());
    CHECK(p.fields.require("n", &n).ok());
    CHECK(p.fields.require("b", &b).ok());
    CHECK(p.fields.require("s", &s).ok());
    CHECK(i == 4294967295u);
    CHECK(r == -1.5);
    CHECK(n == 3);
    CHECK(b);
    CHECK(s == "text");
  }

  TEST_CASE("an integer has no fraction, no exponent, no sign and 32 bits") {
    for (const char* text :
         {R"({"i": 1.0})", R"({"i": 1e3})", R"({"i": -1})", R"({"i": -0})", R"({"i": 4294967296})",
          R"({"i": 18446744073709551616})", R"({"i": "1"})", R"({"i": true})", R"({"i": null})", R"({"i": [1]})"}) {
      CAPTURE(std::string(text));
      const Parsed p(text);
      uint32_t i = 42;
      const Status status = p.fields.require("i", &i);
      CHECK(status.code() == Code::format);
      CHECK(std::string(status.message()) == "'x.json': field 'i' must be an integer from 0 to 4294967295");
      CHECK(i == 42);
    }
  }

  TEST_CASE("other types are checked too") {
    const Parsed p(R"({"s": "1", "n": 1, "b": false})");
    double r = 0;
    bool b = true;
    std::string s;
    CHECK(p.fields.require("s", &r).code() == Code::format);
    CHECK(p.fields.require("b", &r).code() == Code::format);
    CHECK(p.fields.require("n", &b).code() == Code::format);
    CHECK(p.fields.require("s", &b).code() == Code::format);
    CHECK(p.fields.require("n", &s).code() == Code::format);
    CHECK(b);
  }

  TEST_CASE("optional fields keep their default when absent or null, and are checked when there") {
    const Parsed p(R"({"null": null, "wrong": "x"})");
    uint32_t i = 7;
    CHECK(p.fields.optional("absent", &i).ok());
    CHECK(p.fields.optional("null", &i).ok());
    CHECK(i == 7);
    CHECK(p.fields.optional("wrong", &i).code() == Code::format);
    CHECK_FALSE(p.fields.has("null"));
    CHECK(p.fields.has("wrong"));
  }

  TEST_CASE("names the missing field with its path") {
    const Parsed p(R"({"outer": {"a": 1}})");
    const Fields inner("x.json", p.fields.find("outer"), "outer");
    double value = 0;
    CHECK(inner.require("a", &value).ok());
    CHECK(std::string(inner.require("b", &value).message()) == "'x.json': field 'outer.b' is missing");
    const Fields nothing("x.json", p.fields.find("none"), "none");
    CHECK(nothing.require("a", &value).code() == Code::format);
    CHECK(nothing.optional("a", &value).ok());
  }
}
