// The demo model's answers, token by token through the tokenizer: every base answer of answers.json.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "tests/support/host.h"
#include "treadle/text.h"

namespace {

using namespace tdl::test;

struct Tokenizer {
  tdl_tokenizer* handle = nullptr;
  explicit Tokenizer(const std::string& directory) {
    tdl_source* source = nullptr;
    REQUIRE(tdl_source_create(&source, nullptr) == TDL_OK);
    const SourceHandle owner(source);
    REQUIRE(tdl_source_add_directory(source, directory.data(), directory.size(), nullptr) == TDL_OK);
    Error error;
    REQUIRE_MESSAGE(tdl_tokenizer_create(source, &handle, &error) == TDL_OK, error.message);
  }
  ~Tokenizer() { tdl_tokenizer_destroy(handle); }
  std::vector<uint32_t> encode(const std::string& text) const {
    std::vector<uint32_t> tokens(text.size() + 8);
    size_t count = 0;
    REQUIRE(tdl_tokenizer_encode(handle, text.data(), text.size(), TDL_TEXT_ADD_SPECIAL, tokens.data(), tokens.size(), &count, nullptr) == TDL_OK);
    tokens.resize(count);
    return tokens;
  }
  std::string decode(const std::vector<uint32_t>& tokens) const {
    std::string text(tokens.size() * 64 + 1, '\0');
    size_t length = 0;
    REQUIRE(tdl_tokenizer_decode(handle, tokens.data(), tokens.size(), TDL_TEXT_NO_SPECIAL, text.data(), text.size(), &length, nullptr) == TDL_OK);
    text.resize(length);
    return text;
  }
};

std::string base_answer(const nlohmann::json& entry) { return entry["base"]["answer"]; }

}  // namespace

TEST_CASE("abacus answers all its prompts as transformers does, eight at a time") {
  std::ifstream file(abacus_path() + "/answers.json");
  const nlohmann::json answers = nlohmann::json::parse(file);
  REQUIRE(answers.size() == 50);
  const Tokenizer tokenizer(abacus_path() + "/model");
  EngineHandle engine = make_engine(abacus_path() + "/model", [](tdl_engine_config& config) {
    config.max_seqs = 8;
    config.max_context = 64;
    config.block_size = 16;
  });
  const tdl_engine_info info = info_of(engine.get());
  REQUIRE(info.num_eos == 1);
  PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 8), decode = begin_pass(engine.get(), TDL_PASS_DECODE, 8);

  struct Row {
    Sequence sequence;
    std::vector<uint32_t> answer;
    std::string prompt;
  };
  std::vector<std::string> prompts;
  for (const auto& [prompt, entry] : answers.items()) prompts.push_back(prompt);
  for (size_t begin = 0; begin < prompts.size(); begin += 8) {
    std::vector<Row> rows;
    std::vector<Work> work;
    rows.reserve(8);
    for (size_t i = begin; i < std::min(begin + 8, prompts.size()); ++i) {
      const auto first = static_cast<int32_t>(4 * (i - begin));
      rows.push_back({{{first, first + 1, first + 2, first + 3}, 0}, {}, prompts[i]});
      work.push_back({&rows.back().sequence, tokenizer.encode(prompts[i]), {}});
    }
    Results r = run(engine.get(), prefill.get(), work, true, false, false);
    std::vector<Row*> going;
    for (Row& row : rows) going.push_back(&row);
    while (!going.empty()) {
      std::vector<Row*> next;
      work.clear();
      for (size_t i = 0; i < going.size(); ++i) {
        if (r.tokens[i] == info.eos[0] || going[i]->answer.size() > 20) continue;
        going[i]->answer.push_back(r.tokens[i]);
        work.push_back({&going[i]->sequence, {r.tokens[i]}, {}});
        next.push_back(going[i]);
      }
      going = next;
      if (!going.empty()) r = run(engine.get(), decode.get(), work, false, false, false);
    }
    for (const Row& row : rows) CHECK_MESSAGE(tokenizer.decode(row.answer) == base_answer(answers[row.prompt]), row.prompt);
  }
}
