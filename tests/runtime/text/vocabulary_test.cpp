#include "runtime/text/vocabulary.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace tdl;
using namespace tdl::text;

namespace {

Vocabulary build(std::vector<NewToken> tokens) {
  auto built = Vocabulary::build(std::move(tokens));
  REQUIRE(built.ok());
  return std::move(built).value();
}

}  // namespace

TEST_CASE("tokens are found by content and by id, also across gaps") {
  const Vocabulary vocabulary =
      build({{"c", 2000000000, true, false}, {"a", 0, true, false}, {"b", 5, true, false}, {"<x>", 7, false, true}});
  CHECK(vocabulary.size() == 4);
  CHECK(vocabulary.id_limit() == 2000000001u);
  for (const uint32_t id : {0u, 5u, 7u, 2000000000u}) CHECK(vocabulary.id(vocabulary.find_id(id)) == id);
  for (const uint32_t id : {1u, 4u, 6u, 8u, 2000000001u, 0xFFFFFFFFu}) CHECK(vocabulary.find_id(id) == kNoEntry);
  CHECK(vocabulary.id(vocabulary.find("b")) == 5);
  CHECK(vocabulary.content(vocabulary.find("c")) == "c");
  CHECK(vocabulary.find("d") == kNoEntry);
  CHECK(vocabulary.find("<x>") != kNoEntry);
  CHECK(vocabulary.find_of_model("<x>") == kNoEntry);
  CHECK(vocabulary.special(vocabulary.find("<x>")));
}

TEST_CASE("a vocabulary keeps its tokens when it is moved, and may be empty") {
  Vocabulary first = build({{"a", 0, true, false}, {std::string_view("a token longer than a short string"), 1, true, false}});
  const Vocabulary second = std::move(first);
  CHECK(second.find("a token longer than a short string") == 1);
  CHECK(build({}).id_limit() == 0);
  CHECK(build({}).find("") == kNoEntry);
}

TEST_CASE("a token of the model that was also added has both properties") {
  const Vocabulary vocabulary = build({{"<e>", 3, true, false}, {"<e>", 3, false, true}});
  CHECK(vocabulary.size() == 1);
  CHECK(vocabulary.find_of_model("<e>") == 0);
  CHECK(vocabulary.special(0));
}

TEST_CASE("refuses an id with two contents and a content with two ids") {
  CHECK(Vocabulary::build({{"a", 1, true, false}, {"b", 1, true, false}}).status().code() == Code::format);
  CHECK(Vocabulary::build({{"a", 1, true, false}, {"a", 2, true, false}}).status().code() == Code::format);
}

TEST_CASE("a token of the model is spelled, an added or special one is not") {
  const Vocabulary vocabulary =
      build({{"a", 0, true, false}, {"b", 1, false, false}, {"c", 2, true, true}, {"d", 3, true, false}, {"d", 3, false, false}});
  CHECK(vocabulary.spelled(0));
  CHECK(!vocabulary.spelled(1));
  CHECK(!vocabulary.spelled(2));
  CHECK(vocabulary.spelled(3));
}
