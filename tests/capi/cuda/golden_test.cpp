// The golden families on the GPU.  The bound is what Hugging Face's own bf16 run on an H200 is away from the float32 reference
// (golden/bf16_error.json): mean no larger, max at most 1.25 times, argmaxes as often within two deviations.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "tests/support/golden.h"
#include "tests/support/host.h"

namespace {

using namespace tdl::test;

const std::vector<std::string> kFamilies = {"llama-v4",       "llama-hd128-bias", "llama-hd80-f32", "llama-linear-hd96-f16", "llama3-scaled",
                                            "mistral-window", "qwen2-bias",       "qwen3",          "qwen3-hd256",           "qwen3-yarn-sharded"};
constexpr uint32_t kSeqs = 8;

struct Rig {
  EngineHandle engine;
  PassHandle prefill, decode;
  std::vector<GoldenSequence> golden;
  std::vector<Sequence> sequences;

  Rig(const std::string& family, uint32_t block_size, uint32_t rows_per_seq = 1) : golden(load_golden(golden_path(family), "base")) {
    engine = make_engine(golden_path(family) + "/model", [&](tdl_engine_config& config) {
      config.device = "cuda";
      config.device_length = 4;
      config.block_size = block_size;
      config.max_seqs = kSeqs;
      config.max_rows_per_seq = rows_per_seq;
      config.max_context = 256;
      config.max_outputs = 128;
    });
    prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, kSeqs);
    decode = begin_pass(engine.get(), TDL_PASS_DECODE, kSeqs, rows_per_seq);
    const uint32_t per_sequence = 256 / block_size;
    for (uint32_t s = 0; s < kSeqs; ++s) {
      sequences.emplace_back();
      for (uint32_t i = 0; i < per_sequence; ++i) sequences[s].blocks.push_back(static_cast<int32_t>(i * kSeqs + (s * 5 + 3) % kSeqs));
    }
  }
};

std::vector<uint32_t> slice(const std::vector<uint32_t>& tokens, uint32_t first, uint32_t count) { return {tokens.begin() + first, tokens.begin() + first + count}; }

// What one way of running a family adds up to.
struct Errors {
  GoldenErrors sum;
  void add(const GoldenSequence& golden, uint32_t first, uint32_t count, const float* logits) { golden_errors(golden, first, count, logits, &sum); }
  void check(const std::string& family, const char* way) const {
    std::ifstream file(golden_path("bf16_error.json"));
    const nlohmann::json bound = nlohmann::json::parse(file)[family];
    const double mean = sum.total / static_cast<double>(sum.values), most = bound["max"], usual = bound["mean"];
    const double flips = bound["argmax_differs"].get<double>();
    std::printf("%-22s %-28s max %.4f (%.4f)  mean %.5f (%.5f)  argmax %u (%.0f) of %u rows\n", family.c_str(), way, sum.worst, most, mean, usual, sum.argmax_differs, flips,
                sum.rows);
    CAPTURE(family);
    CAPTURE(way);
    CHECK(mean <= usual);
    CHECK(sum.worst <= 1.25 * most);
    CHECK(sum.argmax_differs <= flips + 2 * std::sqrt(flips) + 1);
  }
};

void run_alone(const std::string& family, uint32_t block_size, uint32_t chunk, const char* way) {
  Rig rig(family, block_size);
  Errors errors;
  for (size_t s = 0; s < rig.golden.size(); ++s) {
    const GoldenSequence& golden = rig.golden[s];
    Sequence& sequence = rig.sequences[s];
    while (sequence.length < golden.prompt) {
      const uint32_t first = sequence.length, count = std::min(chunk, golden.prompt - first);
      const Results r = run(rig.engine.get(), rig.prefill.get(), {{&sequence, slice(golden.tokens, first, count), {}}}, true);
      errors.add(golden, first, count, r.logits.data());
    }
    while (sequence.length < golden.tokens.size()) {
      const uint32_t first = sequence.length;
      const Results r = run(rig.engine.get(), rig.decode.get(), {{&sequence, {golden.tokens[first]}, {}}}, false);
      errors.add(golden, first, 1, r.logits.data());
      CHECK(r.result.replayed == 1);
    }
  }
  errors.check(family, way);
}

}  // namespace

TEST_CASE("golden logits on the GPU: prefill in one piece and in chunks, then decode, each sequence alone") {
  for (const std::string& family : kFamilies) {
    run_alone(family, 16, 1000, "whole, blocks of 16");
    run_alone(family, 64, 1000, "whole, blocks of 64");
    run_alone(family, 16, 1, "chunks of 1");
    run_alone(family, 64, 7, "chunks of 7");
    run_alone(family, 32, 16, "chunks of 16");
  }
}

TEST_CASE("golden logits on the GPU: three families in one piece") {
  for (const char* family : {"llama-v4", "mistral-window", "qwen3"}) run_alone(family, 16, 1000, "whole, blocks of 16");
}

TEST_CASE("golden logits on the GPU: all sequences in one ragged prefill, then decoded side by side, one and three rows each") {
  for (const std::string& family : kFamilies) {
    for (const uint32_t rows : {1u, 3u}) {
      Rig rig(family, 16, rows);
      Errors errors;
      std::vector<Work> work;
      for (size_t s = 0; s < rig.golden.size(); ++s) work.push_back({&rig.sequences[s], slice(rig.golden[s].tokens, 0, rig.golden[s].prompt), {}});
      const Results whole = run(rig.engine.get(), rig.prefill.get(), work, true);
      uint32_t row = 0;
      for (const GoldenSequence& golden : rig.golden) {
        errors.add(golden, 0, golden.prompt, whole.logits_of(row));
        row += golden.prompt;
      }
      for (uint32_t step = 0; step < 6; step += rows) {
        std::vector<Work> next;
        for (size_t s = 0; s < rig.golden.size(); ++s) next.push_back({&rig.sequences[s], slice(rig.golden[s].tokens, rig.golden[s].prompt + step, rows), {}});
        const Results r = run(rig.engine.get(), rig.decode.get(), next, false);
        for (size_t s = 0; s < rig.golden.size(); ++s) errors.add(rig.golden[s], rig.golden[s].prompt + step, rows, r.logits_of(static_cast<uint32_t>(s) * rows));
        CHECK(r.result.replayed == 1);
      }
      errors.check(family, rows == 1 ? "ragged, side by side" : "ragged, three rows each");
    }
  }
}
