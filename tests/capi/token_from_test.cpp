// token_from: tokens that the host has not seen feed the next pass.
#include <doctest/doctest.h>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

constexpr uint32_t kSeqs = 3, kSteps = 24;

struct Rig {
  EngineHandle engine;
  PassHandle prefill, decode;
  std::vector<Sequence> sequences;
  std::vector<uint32_t> first;  // the tokens that the prompts gave

  explicit Rig(int32_t graph_mode) {
    engine = make_engine(golden_path("qwen3") + "/model", [=](tdl_engine_config& config) {
      config.max_seqs = kSeqs;
      config.max_prefill_rows = 64;
      config.max_context = 64;
      config.block_size = 16;
      config.graph_mode = graph_mode;
    });
    prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, kSeqs);
    decode = begin_pass(engine.get(), TDL_PASS_DECODE, kSeqs);
    std::vector<Work> work;
    for (uint32_t s = 0; s < kSeqs; ++s) {
      const auto base = static_cast<int32_t>(4 * s);
      sequences.push_back({{base, base + 1, base + 2, base + 3}, 0});
    }
    for (uint32_t s = 0; s < kSeqs; ++s) work.push_back({&sequences[s], {5 + s, 17, 3 * s + 1, 40}, {}});
    first = run(engine.get(), prefill.get(), work, true, false, false).tokens;
  }

  // The plain loop: every token is seen before it is fed.
  std::vector<std::vector<uint32_t>> plain() {
    std::vector<std::vector<uint32_t>> all = {first};
    for (uint32_t step = 0; step < kSteps; ++step) {
      std::vector<Work> work;
      for (uint32_t s = 0; s < kSeqs; ++s) work.push_back({&sequences[s], {all.back()[s]}, {}});
      all.push_back(run(engine.get(), decode.get(), work, false, false, false).tokens);
    }
    return all;
  }

  // Two passes in flight: tokens are read one step late.  Sequence s's output is at place (s + step) % kSeqs.
  std::vector<std::vector<uint32_t>> ahead(bool shuffled) {
    std::vector<std::vector<uint32_t>> all = {first};
    uint64_t tickets[2] = {0, 0};
    const auto place = [&](uint32_t s, uint32_t step) { return shuffled ? (s + step) % kSeqs : s; };
    const auto read = [&](uint32_t step) {
      Results results(engine.get(), kSeqs, false);
      REQUIRE(tdl_wait(engine.get(), tickets[step % 2], UINT64_MAX, &results.result, nullptr) == TDL_OK);
      std::vector<uint32_t> tokens;
      for (uint32_t s = 0; s < kSeqs; ++s) tokens.push_back(results.tokens[place(s, step)]);
      all.push_back(tokens);
    };
    for (uint32_t step = 1; step <= kSteps; ++step) {
      std::vector<Work> work(kSeqs);
      for (uint32_t s = 0; s < kSeqs; ++s) {
        Work& w = work[place(s, step)];
        w.sequence = &sequences[s];
        w.tokens = {step == 1 ? first[s] : 0xFFFFFFFFu};  // not looked at where token_from is given
        w.token_from = {step == 1 ? -1 : static_cast<int32_t>(place(s, step - 1))};
      }
      Batch batch(work, false, 16);
      tdl_metadata metadata = batch.metadata();
      if (step % 3 == 2) metadata.token_ids = nullptr;  // token_from gives all
      Error error;
      REQUIRE_MESSAGE(tdl_upload_metadata(decode.get(), &metadata, &error) == TDL_OK, error.message);
      REQUIRE_MESSAGE(tdl_submit(decode.get(), &tickets[step % 2], &error) == TDL_OK, error.message);
      for (Sequence& sequence : sequences) ++sequence.length;
      if (step > 1) read(step - 1);
    }
    read(kSteps);
    return all;
  }
};

}  // namespace

TEST_CASE("a chain of passes over unseen tokens gives the plain loop's tokens") {
  for (const int32_t graph_mode : {TDL_GRAPHS_AT_CREATE, TDL_GRAPHS_OFF}) {
    CAPTURE(graph_mode);
    Rig plain(graph_mode);
    const auto expected = plain.plain();
    for (const bool shuffled : {false, true}) {
      CAPTURE(shuffled);
      Rig chained(graph_mode);
      CHECK(chained.ahead(shuffled) == expected);
    }
  }
}

TEST_CASE("a row may take a token beside one that has its own, and two rows the same one") {
  Rig plain(TDL_GRAPHS_AT_CREATE), mixed(TDL_GRAPHS_AT_CREATE);
  const auto decode = [](Rig& rig, const std::vector<uint32_t>& tokens, const std::vector<int32_t>& from) {
    std::vector<Work> work;
    for (uint32_t s = 0; s < kSeqs; ++s) work.push_back({&rig.sequences[s], {tokens[s]}, {from[s]}});
    return run(rig.engine.get(), rig.decode.get(), work, false);
  };
  const std::vector<uint32_t>& first = plain.first;
  REQUIRE(first == mixed.first);
  const Results expected = decode(plain, {first[2], 9, first[2]}, {-1, -1, -1});
  CHECK(decode(mixed, {0, 9, 0}, {2, -1, 2}).logits == expected.logits);
}

TEST_CASE("a prefill may take a token of a decode, and a decode the token sampled late") {
  Rig plain(TDL_GRAPHS_AT_CREATE), other(TDL_GRAPHS_AT_CREATE);
  const auto step = [](Rig& rig, tdl_pass* pass, bool prefill, std::vector<uint32_t> tokens, std::vector<int32_t> from) {
    return run(rig.engine.get(), pass, {{&rig.sequences[0], std::move(tokens), std::move(from)}}, prefill, false);
  };
  const uint32_t first = plain.first[0];
  const uint32_t second = step(plain, plain.decode.get(), false, {first}, {}).tokens[0];
  const Results expected = step(plain, plain.prefill.get(), true, {second, 7}, {});

  const PassHandle silent = begin_pass(other.engine.get(), TDL_PASS_DECODE, 1, 1, false);
  Batch batch({{&other.sequences[0], {0}, {0}}}, false, 16);  // the prompts' first token, which only the device has seen
  const tdl_metadata metadata = batch.metadata();
  REQUIRE(tdl_upload_metadata(silent.get(), &metadata, nullptr) == TDL_OK);
  uint64_t ticket = 0;
  REQUIRE(tdl_submit(silent.get(), &ticket, nullptr) == TDL_OK);
  ++other.sequences[0].length;
  REQUIRE(tdl_sample(silent.get(), nullptr, nullptr, nullptr) == TDL_OK);
  const Results chained = step(other, other.prefill.get(), true, {0, 7}, {0, -1});
  CHECK(chained.logits == expected.logits);
  CHECK(chained.tokens == expected.tokens);
}
