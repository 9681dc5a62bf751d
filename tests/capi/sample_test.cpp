// Sampling late, and rows that have nothing to sample from.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "runtime/load/safetensors.h"
#include "tests/support/host.h"

namespace {

using namespace tdl::test;

constexpr uint32_t kNan = 77, kInfinite = 78;  // tokens whose embeddings are NaN, and infinity

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

// The golden model qwen3, whose head is not tied, with two spoilt rows of its embedding.
struct Spoilt {
  std::string directory = golden_path("qwen3") + "/model", config = slurp(directory + "/config.json"), weights = slurp(directory + "/model.safetensors");

  EngineHandle engine(uint32_t max_seqs) {
    tdl::Source files;
    REQUIRE(files.add_directory(directory).ok());
    const auto checkpoint = tdl::Checkpoint::open(files, "model");
    REQUIRE(checkpoint.ok());
    const tdl::TensorInfo* embed = checkpoint.value().find("model.embed_tokens.weight");
    REQUIRE(embed != nullptr);
    REQUIRE(embed->dtype == tdl::DType::bf16);
    const uint64_t row = embed->shape[1] * 2;
    const uint16_t spoil[2] = {0x7FC0, 0x7F80};  // bf16
    for (const uint32_t i : {0u, 1u}) {
      for (uint64_t k = 0; k < embed->shape[1]; ++k) std::memcpy(weights.data() + embed->offset + (kNan + i) * row + 2 * k, &spoil[i], 2);
    }
    tdl_source* source = nullptr;
    REQUIRE(tdl_source_create(&source, nullptr) == TDL_OK);
    const SourceHandle owner(source);
    REQUIRE(tdl_source_add_memory(source, "config.json", 11, config.data(), config.size(), nullptr) == TDL_OK);
    REQUIRE(tdl_source_add_memory(source, "model.safetensors", 17, weights.data(), weights.size(), nullptr) == TDL_OK);
    return make_engine("", [&](tdl_engine_config& c) {
      c.model_path = nullptr;
      c.model_source = source;
      c.max_seqs = max_seqs;
      c.max_prefill_rows = 64;
      c.max_outputs = 64;
      c.max_context = 64;
      c.block_size = 16;
    });
  }
};

Sequence sequence_of(int32_t index) { return {{4 * index, 4 * index + 1, 4 * index + 2, 4 * index + 3}, 0}; }

}  // namespace

TEST_CASE("sampling late gives what sampling in the pass gives") {
  EngineHandle engine = make_engine(golden_path("qwen3") + "/model", [](tdl_engine_config& config) {
    config.max_seqs = 4;
    config.max_prefill_rows = 64;
    config.max_context = 64;
    config.block_size = 16;
    config.max_outputs = 8;
  });
  const std::vector<Sequence> start = {sequence_of(0), sequence_of(1), sequence_of(2)};
  std::vector<Work> works[2];
  std::vector<Sequence> sequences[2] = {start, start};
  for (const int kind : {TDL_PASS_PREFILL, TDL_PASS_DECODE}) {
    const PassHandle usual = begin_pass(engine.get(), kind, 3), silent = begin_pass(engine.get(), kind, 3, 1, false);
    for (const int side : {0, 1}) {
      works[side].clear();
      for (size_t s = 0; s < 3; ++s) {
        const auto seed = static_cast<uint32_t>(s);
        works[side].push_back({&sequences[side][s], kind == TDL_PASS_PREFILL ? std::vector<uint32_t>{seed + 3, 40, 9} : std::vector<uint32_t>{seed + 50}, {}});
      }
      if (kind == TDL_PASS_DECODE) works[side][1].sequence = nullptr;  // sits out
    }
    const Results expected = run(engine.get(), usual.get(), works[0], kind == TDL_PASS_PREFILL, false);
    const Batch batch(works[1], kind == TDL_PASS_PREFILL, 16);
    const tdl_metadata metadata = batch.metadata();
    REQUIRE(tdl_upload_metadata(silent.get(), &metadata, nullptr) == TDL_OK);
    Results before(engine.get(), 3), late(engine.get(), 3), after(engine.get(), 3);
    before.result.tokens = nullptr;
    REQUIRE(tdl_step(silent.get(), &before.result, nullptr) == TDL_OK);
    REQUIRE(tdl_sample(silent.get(), nullptr, &late.result, nullptr) == TDL_OK);
    CHECK(before.logits == expected.logits);
    CHECK(late.tokens == expected.tokens);
    CHECK(late.logits == expected.logits);
    CHECK(late.hidden == expected.hidden);
    // Again, with sampling spelt out; and the ticket has tokens from now on.
    tdl_sampling greedy[3];
    for (tdl_sampling& one : greedy) tdl_sampling_init(&one, sizeof one);
    tdl_metadata how;
    tdl_metadata_init(&how, sizeof how);
    how.sampling = greedy;
    REQUIRE(tdl_sample(silent.get(), &how, nullptr, nullptr) == TDL_OK);
    REQUIRE(tdl_wait(engine.get(), stats_of(engine.get()).passes, 0, &after.result, nullptr) == TDL_OK);
    CHECK(after.tokens == expected.tokens);
    if (kind == TDL_PASS_DECODE) {
      CHECK(late.tokens[1] == TDL_NO_TOKEN);
      CHECK(std::all_of(late.logits_of(1), late.logits_of(2), [](float value) { return value == 0; }));
    }
    for (size_t s = 0; s < 3; ++s) sequences[1][s].length = sequences[0][s].length;
  }
}

TEST_CASE("a row whose logits are not finite fails alone") {
  Spoilt spoilt;
  for (const uint32_t bad : {kNan, kInfinite}) {
    CAPTURE(bad);
    for (const bool prefill : {false, true}) {
      CAPTURE(prefill);
      std::vector<Results> results;
      for (const int side : {0, 1}) {
        EngineHandle engine = spoilt.engine(4);
        const PassHandle first = begin_pass(engine.get(), TDL_PASS_PREFILL, 3), pass = begin_pass(engine.get(), prefill ? TDL_PASS_PREFILL : TDL_PASS_DECODE, 3);
        std::vector<Sequence> sequences = {sequence_of(0), sequence_of(1), sequence_of(2)};
        run(engine.get(), first.get(), {{&sequences[0], {1, 2, 3}, {}}, {&sequences[1], {4, 5}, {}}, {&sequences[2], {6}, {}}}, true, false);
        const uint32_t middle = side == 0 ? bad : 20;
        results.push_back(run(engine.get(), pass.get(), {{&sequences[0], {10}, {}}, {&sequences[1], {middle}, {}}, {&sequences[2], {30}, {}}}, prefill, false));
      }
      const Results &spoiled = results[0], &clean = results[1];
      CHECK(spoiled.row_status == std::vector<tdl_status>{TDL_OK, TDL_E_NUMERIC, TDL_OK});
      CHECK(clean.row_status == std::vector<tdl_status>{TDL_OK, TDL_OK, TDL_OK});
      for (const uint32_t o : {0u, 2u}) {
        CHECK(spoiled.tokens[o] == clean.tokens[o]);
        CHECK(std::equal(clean.logits_of(o), clean.logits_of(o) + clean.vocab, spoiled.logits_of(o)));
      }
    }
  }
}

TEST_CASE("what a row that failed leaves in the cache harms nobody who does not read it") {
  Spoilt spoilt;
  EngineHandle engine = spoilt.engine(4);
  const PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 2), decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2);
  Sequence clean = sequence_of(0), bad = sequence_of(1);
  const std::vector<uint32_t> tokens = {9, 8, 7};
  run(engine.get(), prefill.get(), {{&clean, tokens, {}}}, true);
  const Results expected = run(engine.get(), decode.get(), {{&clean, {6}, {}}}, false);
  // A whole table of NaN, then another sequence in the same blocks.
  std::vector<uint32_t> nan(60, kNan);
  const Results failed = run(engine.get(), prefill.get(), {{&bad, nan, {}}}, true);
  CHECK(std::all_of(failed.row_status.begin(), failed.row_status.end(), [](tdl_status status) { return status == TDL_E_NUMERIC; }));
  Sequence reused{bad.blocks, 0};
  run(engine.get(), prefill.get(), {{&reused, tokens, {}}}, true);
  const Results again = run(engine.get(), decode.get(), {{&reused, {6}, {}}}, false);
  CHECK(again.row_status[0] == TDL_OK);
  CHECK(again.logits == expected.logits);
  CHECK(again.tokens == expected.tokens);
}

TEST_CASE("a token taken from a row that failed is one of the vocabulary, and the pass is served") {
  Spoilt spoilt;
  EngineHandle engine = spoilt.engine(4);
  const PassHandle decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2);
  Sequence bad = sequence_of(0), good = sequence_of(1), fresh = sequence_of(2);
  const Results first = run(engine.get(), decode.get(), {{&bad, {kNan}, {}}, {&good, {5}, {}}}, false);
  CHECK(first.row_status[0] == TDL_E_NUMERIC);
  const Results second = run(engine.get(), decode.get(), {{&fresh, {0}, {0}}, {&good, {0}, {1}}}, false);
  CHECK(second.row_status[0] == TDL_OK);  // meaning nothing, as its token did
  CHECK(second.row_status[1] == TDL_OK);
}
