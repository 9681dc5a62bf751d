#include "runtime/text/metaspace.h"

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

Result<text::Metaspace> read(const Json& fields) {
  Json json = {{"type", "Metaspace"}, {"replacement", "\u2581"}};
  json.update(fields);
  return text::Metaspace::read(Parsed(json).root(), "test");
}

}  // namespace

TEST_CASE("Metaspace says where a space is put before the text, in both its forms") {
  using Prepend = text::Metaspace::Prepend;
  const auto prepend = [](const Json& fields) {
    auto made = read(fields);
    REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
    return made->prepend;
  };
  CHECK(prepend(Json::object()) == Prepend::always);
  CHECK(prepend({{"prepend_scheme", "always"}}) == Prepend::always);
  CHECK(prepend({{"prepend_scheme", "first"}}) == Prepend::first);
  CHECK(prepend({{"prepend_scheme", "never"}}) == Prepend::never);
  CHECK(prepend({{"add_prefix_space", true}}) == Prepend::always);
  CHECK(prepend({{"add_prefix_space", false}}) == Prepend::never);
  CHECK(prepend({{"add_prefix_space", true}, {"prepend_scheme", "first"}}) == Prepend::first);
  CHECK(prepend({{"add_prefix_space", true}, {"prepend_scheme", "never"}}) == Prepend::never);
  CHECK(prepend({{"add_prefix_space", false}, {"prepend_scheme", "never"}}) == Prepend::never);
}

TEST_CASE("Metaspace splits unless it is told not to, and has one character") {
  CHECK(read(Json::object())->split);
  CHECK(!read({{"split", false}})->split);
  CHECK(read(Json::object())->replacement == "\u2581");
  CHECK(read({{"replacement", "_"}})->replacement == "_");
}

TEST_CASE("refuses a malformed Metaspace") {
  for (const Json& fields : {Json{{"replacement", ""}}, Json{{"replacement", "__"}}, Json{{"replacement", 7}},
                             Json{{"replacement", nullptr}}, Json{{"split", 1}}, Json{{"add_prefix_space", 1}},
                             Json{{"prepend_scheme", 1}}, Json{{"add_prefix_space", false}, {"prepend_scheme", "always"}},
                             Json{{"add_prefix_space", false}, {"prepend_scheme", "first"}}}) {
    CAPTURE(fields.dump());
    CHECK(read(fields).status().code() == Code::format);
  }
  CHECK(read({{"prepend_scheme", "Always"}}).status().code() == Code::unsupported);
}
