// A small host over the C ABI, for tests: handles that close themselves, and passes put together from sequences.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "treadle/treadle.h"

namespace tdl::test {

struct Closer {
  void operator()(tdl_source* source) const { tdl_source_destroy(source); }
  void operator()(tdl_engine* engine) const { tdl_engine_destroy(engine); }
  void operator()(tdl_pass* pass) const { tdl_pass_end(pass); }
};
using SourceHandle = std::unique_ptr<tdl_source, Closer>;
using EngineHandle = std::unique_ptr<tdl_engine, Closer>;
using PassHandle = std::unique_ptr<tdl_pass, Closer>;

// An error ready to be passed.
struct Error : tdl_error {
  Error() { tdl_error_init(this, sizeof(tdl_error)); }
};

// Folders of the tree that tests read; from the environment that meson sets.
std::string data_path(const std::string& name);    // tests/data/...
std::string golden_path(const std::string& name);  // TREADLE_GOLDEN when given, else tests/golden/...
std::string abacus_path();                         // capi/examples/abacus

// Creates an engine over a model directory, on the CPU unless TREADLE_TEST_DEVICE names another device; `adjust` changes the configuration first.  Fails the test when that fails.
EngineHandle make_engine(const std::string& directory, const std::function<void(tdl_engine_config&)>& adjust = nullptr);
tdl_engine_info info_of(tdl_engine* engine);
tdl_engine_stats stats_of(tdl_engine* engine);
PassHandle begin_pass(tdl_engine* engine, int32_t kind, uint32_t num_seqs, uint32_t rows_per_seq = 1, bool sample = true);

// A sequence as a host knows it: tokens whose KV is in the cache, and its blocks.
struct Sequence {
  std::vector<int32_t> blocks;
  uint32_t length = 0;
};

// What one sequence brings to a pass.
struct Work {
  Sequence* sequence;              // null: sits out, with tokens.size() rows
  std::vector<uint32_t> tokens;
  std::vector<int32_t> token_from; // empty, or one for each token
};

// The arrays of one upload, filled from sequences; fields may be changed before they are handed over.
struct Batch {
  std::vector<uint32_t> tokens, positions, seq_len, query_start;
  std::vector<int32_t> token_from, block_table, output_row;
  std::vector<int64_t> slot;
  uint32_t stride = 1;
  bool ragged = false, all_outputs = false, explicit_slots = false;

  Batch(const std::vector<Work>& work, bool prefill, uint32_t block_size);
  tdl_metadata metadata() const;
  uint32_t rows() const { return static_cast<uint32_t>(tokens.size()); }
};

// Results of a step, with the arrays it was written to.
struct Results {
  std::vector<tdl_status> row_status;
  std::vector<uint32_t> tokens;
  std::vector<float> logits, hidden;
  tdl_step_result result;

  Results(tdl_engine* engine, uint32_t outputs, bool with_logits = true);
  const float* logits_of(uint32_t output) const { return logits.data() + uint64_t{output} * vocab; }
  uint32_t vocab, width;
};

// Uploads and steps; fails the test when either is refused.  Lengths of the sequences go up.
Results run(tdl_engine* engine, tdl_pass* pass, const std::vector<Work>& work, bool prefill, bool all_outputs = true, bool with_logits = true);

}  // namespace tdl::test
