// Golden cases: token sequences and the logits that transformers (with peft) gives for them in float32.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tdl::test {

struct GoldenSequence {
  std::vector<uint32_t> tokens;
  uint32_t prompt = 0;        // tokens meant for prefill
  std::string adapter;        // empty = base
  std::vector<float> logits;  // [tokens, vocab]
  uint32_t vocab = 0;
};

// The sequences of one case ("base", "mixed") of a family's folder.  Fails the test when they cannot be read.
std::vector<GoldenSequence> load_golden(const std::string& folder, const std::string& case_name);

// Largest |a - b| / (1e-3 + standard deviation of the reference) over rows first..first + count of a sequence.
double golden_error(const GoldenSequence& sequence, uint32_t first, uint32_t count, const float* logits);

// Sums of the same measure over many rows.
struct GoldenErrors {
  double worst = 0, total = 0;
  uint64_t values = 0;
  uint32_t rows = 0, argmax_differs = 0;
};
void golden_errors(const GoldenSequence& sequence, uint32_t first, uint32_t count, const float* logits, GoldenErrors* sum);

// The bound of the CPU device, from the goldens' own README: f32 throughout gives at most 3e-5.
inline constexpr double kHostBound = 1e-3;

}  // namespace tdl::test
