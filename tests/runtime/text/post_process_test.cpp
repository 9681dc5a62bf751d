#include "runtime/text/post_process.h"

#include "tests/runtime/text/text_data.h"

using namespace tdl;
using namespace tdl::test;

namespace {

Json special(const char* name) {
  return {{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
}
Json text_piece(const char* name = "A") {
  return {{"Sequence", {{"id", name}, {"type_id", 0}}}};
}
Json template_of(const Json& single) {
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", Json::array()},
          {"special_tokens",
           {{"b", {{"id", "b"}, {"ids", Json::array({1u, 0u})}, {"tokens", {"x", "y"}}}},
            {"e", {{"id", "e"}, {"ids", Json::array({2u})}, {"tokens", {"z"}}}}}}};
}
const Json kByteLevel = {{"type", "ByteLevel"}};
Json sequence(const Json& steps) {
  return {{"type", "Sequence"}, {"processors", steps}};
}

Result<text::PostProcessor> read(const Json& json) {
  auto vocabulary = text::Vocabulary::build({{"x", 0, true, false}, {"y", 1, true, false}, {"z", 2, true, false}});
  REQUIRE(vocabulary.ok());
  return text::PostProcessor::read(Parsed(json).root(), vocabulary.value());
}
Code refusal(const Json& json) {
  return read(json).status().code();
}

}  // namespace

TEST_CASE("a template gives the tokens before and behind the text") {
  auto both = read(sequence(Json::array({kByteLevel, template_of({special("b"), text_piece(), special("e"), special("e")})})));
  REQUIRE_MESSAGE(both.ok(), std::string(both.status().message()));
  CHECK(both->before() == Ids{1, 0});
  CHECK(both->behind() == Ids{2, 2});
  auto none = read(template_of(Json::array({text_piece()})));
  REQUIRE(none.ok());
  CHECK(none->before().empty());
  CHECK(none->behind().empty());
  CHECK(read(kByteLevel).ok());
  CHECK(text::PostProcessor::read({}, text::Vocabulary()).ok());
}

TEST_CASE("refuses templates without the text, with it twice, and two templates") {
  CHECK(refusal(template_of(Json::array())) == Code::unsupported);
  CHECK(refusal(template_of(Json::array({special("b")}))) == Code::unsupported);
  CHECK(refusal(template_of({text_piece(), text_piece()})) == Code::unsupported);
  CHECK(refusal(template_of({text_piece("B"), special("b")})) == Code::unsupported);
  const Json one = template_of({text_piece(), special("e")});
  CHECK(refusal(sequence(Json::array({one}))) == Code::ok);
  CHECK(refusal(sequence(Json::array({one, one}))) == Code::unsupported);
  CHECK(refusal({{"type", "BertProcessing"}}) == Code::unsupported);
  CHECK(refusal({{"type", "RobertaProcessing"}}) == Code::unsupported);
}

TEST_CASE("refuses malformed templates and ids that are no tokens") {
  CHECK(refusal(7) == Code::format);
  CHECK(refusal(Json::object()) == Code::format);
  CHECK(refusal({{"type", "Sequence"}}) == Code::format);
  CHECK(refusal(template_of({text_piece(), special("other")})) == Code::format);
  CHECK(refusal(template_of({text_piece(), Json{{"Other", 1}}})) == Code::format);
  CHECK(refusal(template_of({text_piece(), Json{{"SpecialToken", 1}}})) == Code::format);
  Json json = template_of({text_piece(), special("e")});
  json["special_tokens"]["e"]["ids"] = Json::array({3u});
  CHECK(refusal(json) == Code::format);
  json["special_tokens"]["e"]["ids"] = Json::array({-1});
  CHECK(refusal(json) == Code::format);
  json["special_tokens"]["e"].erase("ids");
  CHECK(refusal(json) == Code::format);
  json["special_tokens"] = nullptr;
  CHECK(refusal(json) == Code::format);
}
