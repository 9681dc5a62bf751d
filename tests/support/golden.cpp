#include "tests/support/golden.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/load/safetensors.h"

namespace tdl::test {

std::vector<GoldenSequence> load_golden(const std::string& folder, const std::string& case_name) {
  Source source;
  REQUIRE(source.add_directory(folder).ok());
  auto checkpoint = Checkpoint::open(source, "expected");
  REQUIRE_MESSAGE(checkpoint.ok(), folder, ": ", checkpoint.status().message());
  std::ifstream file(folder + "/cases.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  std::vector<GoldenSequence> sequences;
  for (const auto& one : cases["cases"]) {
    if (one["name"] != case_name) continue;
    for (const auto& s : one["sequences"]) {
      GoldenSequence sequence;
      sequence.tokens = s["tokens"].get<std::vector<uint32_t>>();
      sequence.prompt = s["n_prompt"];
      if (s["adapter"].is_string()) sequence.adapter = s["adapter"];
      const TensorInfo* tensor = checkpoint->find(case_name + "." + std::to_string(sequences.size()) + ".logits");
      REQUIRE(tensor != nullptr);
      sequence.vocab = static_cast<uint32_t>(tensor->shape[1]);
      sequence.logits.resize(tensor->bytes / sizeof(float));
      REQUIRE(tensor->shape[0] == sequence.tokens.size());
      REQUIRE(checkpoint->read(*tensor, 0, sequence.logits.data(), tensor->bytes).ok());
      sequences.push_back(std::move(sequence));
    }
  }
  REQUIRE(!sequences.empty());
  return sequences;
}

void golden_errors(const GoldenSequence& sequence, uint32_t first, uint32_t count, const float* logits, GoldenErrors* sum) {
  double all = 0, squares = 0;
  for (const float value : sequence.logits) all += value;
  const auto n = static_cast<double>(sequence.logits.size());
  for (const float value : sequence.logits) squares += (value - all / n) * (value - all / n);
  const double scale = 1e-3 + std::sqrt(squares / (n - 1));
  for (uint32_t row = 0; row < count; ++row) {
    const float *actual = logits + uint64_t{row} * sequence.vocab, *expected = sequence.logits.data() + uint64_t{first + row} * sequence.vocab;
    for (uint32_t i = 0; i < sequence.vocab; ++i) {
      const double error = std::abs(static_cast<double>(actual[i]) - expected[i]) / scale;
      sum->worst = std::isnan(error) ? INFINITY : std::max(sum->worst, error);
      sum->total += error;
    }
    sum->argmax_differs += std::max_element(actual, actual + sequence.vocab) - actual != std::max_element(expected, expected + sequence.vocab) - expected;
  }
  sum->values += uint64_t{count} * sequence.vocab;
  sum->rows += count;
}

double golden_error(const GoldenSequence& sequence, uint32_t first, uint32_t count, const float* logits) {
  GoldenErrors sum;
  golden_errors(sequence, first, count, logits, &sum);
  return sum.worst;
}

}  // namespace tdl::test
