// Replay against eager execution, and a row against its neighbours: bit for bit.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "tests/support/host.h"

namespace {

using namespace tdl::test;

constexpr uint32_t kSeqs = 6, kBlock = 16, kContext = 96, kRowsPerSeq = 3, kBlocksEach = kContext / kBlock;

struct Side {
  EngineHandle engine;
  PassHandle prefill, decode[kRowsPerSeq];
  std::vector<Sequence> sequences;

  explicit Side(int32_t graph_mode) {
    engine = make_engine(golden_path("qwen3") + "/model", [=](tdl_engine_config& config) {
      config.max_seqs = kSeqs;
      config.max_rows_per_seq = kRowsPerSeq;
      config.max_prefill_rows = 64;
      config.max_context = kContext;
      config.block_size = kBlock;
      config.max_outputs = 64;
      config.graph_mode = graph_mode;
    });
    prefill = begin_pass(engine.get(), TDL_PASS_PREFILL, kSeqs);
    for (uint32_t k = 0; k < kRowsPerSeq; ++k) decode[k] = begin_pass(engine.get(), TDL_PASS_DECODE, kSeqs, k + 1);
    sequences.resize(kSeqs);
    for (uint32_t s = 0; s < kSeqs; ++s) {
      for (uint32_t i = 0; i < kBlocksEach; ++i) sequences[s].blocks.push_back(static_cast<int32_t>((i * 7 + s * kBlocksEach) % (kSeqs * kBlocksEach)));
    }
  }
};

// One random pass, the same for both sides: which sequences, how many rows each, which outputs.
struct Plan {
  bool prefill;
  uint32_t rows_per_seq;
  std::vector<int32_t> who;  // -1 = sits out
  std::vector<std::vector<uint32_t>> tokens;
  std::vector<int32_t> outputs;
  bool explicit_slots;
};

Plan make_plan(std::mt19937& random, std::vector<Sequence>& sequences) {
  const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Plan plan{below(3) == 0, 1 + below(kRowsPerSeq), {}, {}, {}, below(2) == 0};
  std::vector<int32_t> order(kSeqs);
  for (uint32_t s = 0; s < kSeqs; ++s) order[s] = static_cast<int32_t>(s);
  std::shuffle(order.begin(), order.end(), random);
  const uint32_t count = 1 + below(kSeqs);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t n = plan.prefill ? 1 + below(10) : plan.rows_per_seq;
    int32_t who = order[i];
    if (sequences[static_cast<uint32_t>(who)].length + n > kContext) sequences[static_cast<uint32_t>(who)].length = below(20);  // leaves; another joins
    if (below(8) == 0) who = -1;
    plan.who.push_back(who);
    plan.tokens.emplace_back();
    for (uint32_t k = 0; k < n; ++k) plan.tokens.back().push_back(below(192));
    rows += n;
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (below(3) == 0) plan.outputs.push_back(static_cast<int32_t>(row));
  }
  return plan;
}

Results play(Side& side, const Plan& plan) {
  std::vector<Work> work;
  for (size_t i = 0; i < plan.who.size(); ++i)
    work.push_back({plan.who[i] < 0 ? nullptr : &side.sequences[static_cast<uint32_t>(plan.who[i])], plan.tokens[i], {}});
  Batch batch(work, plan.prefill, kBlock);
  batch.output_row = plan.outputs;
  batch.explicit_slots = plan.explicit_slots;
  const tdl_metadata metadata = batch.metadata();
  tdl_pass* pass = plan.prefill ? side.prefill.get() : side.decode[plan.rows_per_seq - 1].get();
  Results results(side.engine.get(), plan.outputs.empty() ? static_cast<uint32_t>(plan.who.size()) : static_cast<uint32_t>(plan.outputs.size()));
  Error error;
  REQUIRE_MESSAGE(tdl_upload_metadata(pass, &metadata, &error) == TDL_OK, error.message);
  REQUIRE_MESSAGE(tdl_step(pass, &results.result, &error) == TDL_OK, error.message);
  for (const Work& w : work) {
    if (w.sequence) w.sequence->length += static_cast<uint32_t>(w.tokens.size());
  }
  return results;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("replayed graphs give the bits of eager execution, over a random schedule of 1,000 passes") {
  Side graphs(TDL_GRAPHS_AT_CREATE), eager(TDL_GRAPHS_OFF), on_demand(TDL_GRAPHS_ON_DEMAND);
  std::mt19937 random(11);
  uint32_t decodes = 0, finite = 0;
  for (uint32_t pass = 0; pass < 1000; ++pass) {
    CAPTURE(pass);
    const Plan plan = make_plan(random, graphs.sequences);
    for (Side* side : {&eager, &on_demand}) {
      for (uint32_t s = 0; s < kSeqs; ++s) side->sequences[s].length = graphs.sequences[s].length;
    }
    const Results a = play(graphs, plan), b = play(eager, plan), c = play(on_demand, plan);
    REQUIRE(same_bits(a.logits, b.logits));
    REQUIRE(same_bits(a.hidden, b.hidden));
    REQUIRE(a.tokens == b.tokens);
    REQUIRE(a.row_status == b.row_status);
    REQUIRE(same_bits(a.logits, c.logits));
    REQUIRE(a.tokens == c.tokens);
    REQUIRE(a.result.replayed == (plan.prefill ? 0 : 1));
    REQUIRE(b.result.replayed == 0);
    decodes += !plan.prefill;
    for (const tdl_status status : a.row_status) finite += status == TDL_OK;
  }
  CHECK(decodes > 500);
  CHECK(finite > 1000);
  CHECK(stats_of(graphs.engine.get()).graph_replays == decodes);
  CHECK(stats_of(eager.engine.get()).eager_passes == 1000);
  CHECK(stats_of(eager.engine.get()).graphs == 0);
  CHECK(stats_of(graphs.engine.get()).graph_failures == 0);
}

TEST_CASE("at one bucket a row's bits change neither with its neighbours nor with its index") {
  std::mt19937 random(3);
  const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const std::vector<uint32_t> prompt = {5, 9, 100, 33, 77, 12, 150, 151, 60};
  std::vector<float> expected_logits, expected_hidden;
  for (uint32_t trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    Side side(trial % 2 ? TDL_GRAPHS_AT_CREATE : TDL_GRAPHS_OFF);
    // The neighbours have tokens, lengths and KV of their own, or sit out; three of them, so that the bucket is 4.
    for (uint32_t s = 1; s <= 3; ++s) {
      std::vector<uint32_t> other(1 + below(60));
      for (uint32_t& token : other) token = below(192);
      run(side.engine.get(), side.prefill.get(), {{&side.sequences[s], other, {}}}, true);
    }
    Sequence& mine = side.sequences[0];
    std::shuffle(mine.blocks.begin(), mine.blocks.end(), random);
    run(side.engine.get(), side.prefill.get(), {{&mine, prompt, {}}}, true);
    const uint32_t at = below(4);
    std::vector<Work> work;
    for (uint32_t i = 0; i < 4; ++i) {
      if (i == at) work.push_back({&mine, {42}, {}});
      else work.push_back({below(4) ? &side.sequences[i < at ? i + 1 : i] : nullptr, {below(192)}, {}});
    }
    const Results r = run(side.engine.get(), side.decode[0].get(), work, false);
    CHECK(r.result.bucket == 4);
    const std::vector<float> logits(r.logits_of(at), r.logits_of(at) + r.vocab), hidden(r.hidden.begin() + at * r.width, r.hidden.begin() + (at + 1) * r.width);
    if (trial == 0) {
      expected_logits = logits;
      expected_hidden = hidden;
    }
    CHECK(same_bits(logits, expected_logits));
    CHECK(same_bits(hidden, expected_hidden));
  }
}

TEST_CASE("the CPU device is batch invariant: chunking, bucket and kind of pass do not change a row's bits") {
  const std::vector<uint32_t> tokens = {5, 9, 100, 33, 77, 12, 150, 151, 60, 4, 8, 15, 16, 23, 42, 108, 3, 1, 4, 1, 5};
  std::vector<float> expected;
  for (const uint32_t chunk : {21u, 1u, 2u, 5u, 16u}) {
    for (const bool decode : {false, true}) {
      if (decode && chunk > kRowsPerSeq) continue;
      CAPTURE(chunk);
      CAPTURE(decode);
      Side side(TDL_GRAPHS_AT_CREATE);
      std::vector<float> logits;
      for (uint32_t first = 0; first < tokens.size(); first += chunk) {
        const uint32_t count = std::min(chunk, static_cast<uint32_t>(tokens.size()) - first);
        const std::vector<uint32_t> piece(tokens.begin() + first, tokens.begin() + first + count);
        tdl_pass* pass = decode ? side.decode[count - 1].get() : side.prefill.get();
        const Results r = run(side.engine.get(), pass, {{&side.sequences[0], piece, {}}}, !decode);
        logits.insert(logits.end(), r.logits.begin(), r.logits.end());
      }
      if (expected.empty()) expected = logits;
      CHECK(same_bits(logits, expected));
    }
  }
}
