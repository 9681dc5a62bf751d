// The golden families, driven through the C ABI in every way a host may: whole, chunked, ragged, in every bucket.
#include <doctest/doctest.h>

#include "tests/support/golden.h"
#include "tests/support/host.h"

namespace {

using namespace tdl::test;

const std::vector<std::string> kFamilies = {"llama-v4",       "llama-hd128-bias", "llama-hd80-f32", "llama-linear-hd96-f16", "llama3-scaled",
                                            "mistral-window", "qwen2-bias",       "qwen3",          "qwen3-hd256",           "qwen3-yarn-sharded"};

struct Rig {
  EngineHandle engine;
  PassHandle prefill, decode;
  std::vector<GoldenSequence> golden;
  std::vector<Sequence> sequences;

  Rig(const std::string& family, uint32_t block_size, uint32_t max_seqs = 8) : golden(load_golden(golden_path(family), "base")) {
    engine = make_engine(golden_path(family) + "/model", [&](tdl_engine_config& config) {
      config.block_size = block_size;
      config.max_seqs = max_seqs;
      config.max_context = 256;
      config.max_outputs = 128;
    });
    prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, max_seqs);
    decode = begin_pass(engine.get(), TDL_PASS_DECODE, max_seqs);
    // Blocks in no order, each sequence its own.
    const uint32_t per_sequence = 256 / block_size;
    for (uint32_t s = 0; s < max_seqs; ++s) {
      sequences.emplace_back();
      for (uint32_t i = 0; i < per_sequence; ++i) sequences[s].blocks.push_back(static_cast<int32_t>(i * max_seqs + (s * 5 + 3) % max_seqs));
    }
  }
};

std::vector<uint32_t> slice(const std::vector<uint32_t>& tokens, uint32_t first, uint32_t count) {
  return {tokens.begin() + first, tokens.begin() + first + count};
}

}  // namespace

TEST_CASE("golden logits: prefill in one piece and in chunks, then decode, each sequence alone") {
  for (const std::string& family : kFamilies) {
    for (const uint32_t block_size : {16u, 64u}) {
      for (const uint32_t chunk : {1u, 7u, 16u, 1000u}) {
        CAPTURE(family);
        CAPTURE(block_size);
        CAPTURE(chunk);
        Rig rig(family, block_size);
        for (size_t s = 0; s < rig.golden.size(); ++s) {
          const GoldenSequence& golden = rig.golden[s];
          Sequence& sequence = rig.sequences[s];
          while (sequence.length < golden.prompt) {
            const uint32_t first = sequence.length, count = std::min(chunk, golden.prompt - first);
            const Results r = run(rig.engine.get(), rig.prefill.get(), {{&sequence, slice(golden.tokens, first, count), {}}}, true);
            CHECK(golden_error(golden, first, count, r.logits.data()) < kHostBound);
          }
          while (sequence.length < golden.tokens.size()) {
            const uint32_t first = sequence.length;
            const Results r = run(rig.engine.get(), rig.decode.get(), {{&sequence, {golden.tokens[first]}, {}}}, false);
            CHECK(golden_error(golden, first, 1, r.logits.data()) < kHostBound);
            CHECK(r.result.bucket == 1);
            CHECK(r.result.replayed == 1);
          }
        }
      }
    }
  }
}

TEST_CASE("golden logits: all sequences in one ragged prefill, then decoded side by side") {
  for (const std::string& family : kFamilies) {
    for (const uint32_t block_size : {16u, 64u}) {
      CAPTURE(family);
      CAPTURE(block_size);
      Rig rig(family, block_size);
      std::vector<Work> work;
      for (size_t s = 0; s < rig.golden.size(); ++s) work.push_back({&rig.sequences[s], slice(rig.golden[s].tokens, 0, rig.golden[s].prompt), {}});
      const Results whole = run(rig.engine.get(), rig.prefill.get(), work, true);
      uint32_t row = 0;
      for (const GoldenSequence& golden : rig.golden) {
        CHECK(golden_error(golden, 0, golden.prompt, whole.logits_of(row)) < kHostBound);
        row += golden.prompt;
      }
      for (uint32_t step = 0; step < 6; ++step) {
        std::vector<Work> next;
        for (size_t s = 0; s < rig.golden.size(); ++s) next.push_back({&rig.sequences[s], {rig.golden[s].tokens[rig.golden[s].prompt + step]}, {}});
        const Results r = run(rig.engine.get(), rig.decode.get(), next, false);
        for (size_t s = 0; s < rig.golden.size(); ++s)
          CHECK(golden_error(rig.golden[s], rig.golden[s].prompt + step, 1, r.logits_of(static_cast<uint32_t>(s))) < kHostBound);
      }
    }
  }
}

TEST_CASE("golden logits: prefill beside decode in one ragged pass") {
  for (const std::string& family : kFamilies) {
    CAPTURE(family);
    Rig rig(family, 16);
    const GoldenSequence &a = rig.golden[0], &b = rig.golden[1];
    run(rig.engine.get(), rig.prefill.get(), {{&rig.sequences[0], slice(a.tokens, 0, a.prompt), {}}}, true);
    // One token of a beside five of b, six times.
    for (uint32_t step = 0; step < 6; ++step) {
      const Results r = run(rig.engine.get(), rig.prefill.get(),
                            {{&rig.sequences[0], {a.tokens[a.prompt + step]}, {}}, {&rig.sequences[1], slice(b.tokens, 3 * step, 3), {}}}, true);
      CHECK(golden_error(a, a.prompt + step, 1, r.logits_of(0)) < kHostBound);
      CHECK(golden_error(b, 3 * step, 3, r.logits_of(1)) < kHostBound);
    }
  }
}

TEST_CASE("golden logits: decode in every bucket, at every row, beside others") {
  for (const std::string& family : kFamilies) {
    CAPTURE(family);
    for (const uint32_t beside : {0u, 1u, 2u, 3u, 5u, 7u}) {
      CAPTURE(beside);
      Rig rig(family, 16);
      const GoldenSequence& golden = rig.golden[0];
      // The others hold other tokens, and fewer of them each.
      std::vector<Sequence*> others;
      for (uint32_t i = 1; i <= beside; ++i) {
        others.push_back(&rig.sequences[i]);
        run(rig.engine.get(), rig.prefill.get(), {{others.back(), slice(rig.golden[1].tokens, 0, 3 * i), {}}}, true);
      }
      run(rig.engine.get(), rig.prefill.get(), {{&rig.sequences[0], slice(golden.tokens, 0, golden.prompt), {}}}, true);
      for (uint32_t step = 0; step < 6; ++step) {
        std::vector<Work> work;
        const uint32_t at = (step * 2) % (beside + 1);
        for (uint32_t i = 0; i <= beside; ++i) {
          if (i == at) work.push_back({&rig.sequences[0], {golden.tokens[golden.prompt + step]}, {}});
          else work.push_back({others[i < at ? i : i - 1], {(17 * step + i) % golden.vocab}, {}});
        }
        const Results r = run(rig.engine.get(), rig.decode.get(), work, false);
        CHECK(golden_error(golden, golden.prompt + step, 1, r.logits_of(at)) < kHostBound);
        CHECK(r.result.replayed == 1);
      }
    }
  }
}

TEST_CASE("golden logits: decode with several rows per sequence, as speculative decoding verifies") {
  for (const std::string& family : kFamilies) {
    CAPTURE(family);
    const std::vector<GoldenSequence> golden = load_golden(golden_path(family), "base");
    EngineHandle engine = make_engine(golden_path(family) + "/model", [](tdl_engine_config& config) {
      config.max_seqs = 4;
      config.max_rows_per_seq = 3;
      config.block_size = 16;
      config.max_context = 64;
      config.max_outputs = 64;
    });
    PassHandle prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, 1), decode = begin_pass(engine.get(), TDL_PASS_DECODE, 2, 3);
    std::vector<Sequence> sequences = {{{3, 1, 5, 7}, 0}, {{0, 2, 4, 6}, 0}};
    for (size_t s = 0; s < 2; ++s) run(engine.get(), prefill.get(), {{&sequences[s], slice(golden[s].tokens, 0, golden[s].prompt), {}}}, true);
    for (uint32_t step = 0; step < 6; step += 3) {
      std::vector<Work> work;
      for (size_t s = 0; s < 2; ++s) work.push_back({&sequences[s], slice(golden[s].tokens, golden[s].prompt + step, 3), {}});
      const Results r = run(engine.get(), decode.get(), work, false);
      for (uint32_t s = 0; s < 2; ++s) CHECK(golden_error(golden[s], golden[s].prompt + step, 3, r.logits_of(3 * s)) < kHostBound);
      CHECK(r.result.replayed == 1);
    }
  }
}
