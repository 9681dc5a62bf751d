#include "tests/support/host.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

namespace tdl::test {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  REQUIRE_MESSAGE(value != nullptr, std::string(name), " is not set; run the tests through meson");
  return value;
}

}  // namespace

std::string data_path(const std::string& name) { return from_environment("TREADLE_TEST_DATA") + "/" + name; }
std::string abacus_path() { return from_environment("TREADLE_ABACUS_ROOT"); }
std::string golden_path(const std::string& name) {
  const char* full = std::getenv("TREADLE_GOLDEN");
  return (full && *full ? std::string(full) : from_environment("TREADLE_GOLDEN_COMMITTED")) + "/" + name;
}

EngineHandle make_engine(const std::string& directory, const std::function<void(tdl_engine_config&)>& adjust) {
  tdl_engine_config config;
  tdl_engine_config_init(&config, sizeof config);
  config.model_path = directory.data();
  config.model_path_length = directory.size();
  const char* device = std::getenv("TREADLE_TEST_DEVICE");  // tests/run_gpu.sh sets it
  config.device = device ? device : "cpu";
  config.device_length = std::strlen(config.device);
  config.num_threads = 2;
  if (adjust) adjust(config);
  tdl_engine* engine = nullptr;
  Error error;
  const tdl_status status = tdl_engine_create(&config, &engine, &error);
  REQUIRE_MESSAGE(status == TDL_OK, directory, ": ", error.message);
  return EngineHandle(engine);
}

tdl_engine_info info_of(tdl_engine* engine) {
  tdl_engine_info info;
  tdl_engine_info_init(&info, sizeof info);
  REQUIRE(tdl_engine_get_info(engine, &info, nullptr) == TDL_OK);
  return info;
}

tdl_engine_stats stats_of(tdl_engine* engine) {
  tdl_engine_stats stats;
  tdl_engine_stats_init(&stats, sizeof stats);
  REQUIRE(tdl_engine_get_stats(engine, &stats, nullptr) == TDL_OK);
  return stats;
}

PassHandle begin_pass(tdl_engine* engine, int32_t kind, uint32_t num_seqs, uint32_t rows_per_seq, bool sample) {
  tdl_pass_desc desc;
  tdl_pass_desc_init(&desc, sizeof desc);
  desc.kind = kind;
  desc.num_seqs = num_seqs;
  if (kind == TDL_PASS_DECODE) desc.rows_per_seq = rows_per_seq;
  desc.no_sample = !sample;
  tdl_pass* pass = nullptr;
  Error error;
  REQUIRE_MESSAGE(tdl_pass_begin(engine, &desc, &pass, &error) == TDL_OK, error.message);
  return PassHandle(pass);
}

Batch::Batch(const std::vector<Work>& work, bool prefill, uint32_t block_size) : ragged(prefill && work.size() > 1) {
  for (const Work& w : work) {
    if (w.sequence) stride = std::max<uint32_t>(stride, static_cast<uint32_t>(w.sequence->blocks.size()));
  }
  for (const Work& w : work) {
    query_start.push_back(rows());
    const auto count = static_cast<uint32_t>(w.tokens.size());
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t index = w.sequence ? w.sequence->length + i : 0;
      tokens.push_back(w.tokens[i]);
      token_from.push_back(w.token_from.empty() ? -1 : w.token_from[i]);
      positions.push_back(index);
      slot.push_back(w.sequence ? int64_t{w.sequence->blocks[index / block_size]} * block_size + index % block_size : -1);
    }
    seq_len.push_back(w.sequence ? w.sequence->length + count : 0);
    std::vector<int32_t> row = w.sequence ? w.sequence->blocks : std::vector<int32_t>();
    row.resize(stride, -1);  // entries past seq_len are not read
    block_table.insert(block_table.end(), row.begin(), row.end());
  }
  query_start.push_back(rows());
}

tdl_metadata Batch::metadata() const {
  tdl_metadata m;
  tdl_metadata_init(&m, sizeof m);
  m.num_rows = rows();
  m.num_seqs = static_cast<uint32_t>(seq_len.size());
  m.max_blocks_per_seq = stride;
  m.token_ids = tokens.data();
  m.token_from = token_from.data();
  m.positions = positions.data();
  m.slot = explicit_slots ? slot.data() : nullptr;
  m.seq_len = seq_len.data();
  m.block_table = block_table.data();
  m.query_start = ragged ? query_start.data() : nullptr;
  m.output_row = output_row.empty() ? nullptr : output_row.data();
  m.num_outputs = static_cast<uint32_t>(output_row.size());
  return m;
}

Results::Results(tdl_engine* engine, uint32_t outputs, bool with_logits) : row_status(outputs), tokens(outputs) {
  const tdl_engine_info info = info_of(engine);
  vocab = info.vocab_size;
  width = info.hidden_size;
  tdl_step_result_init(&result, sizeof result);
  result.capacity = outputs;
  result.row_status = row_status.data();
  result.tokens = tokens.data();
  if (!with_logits) return;
  logits.resize(uint64_t{outputs} * vocab);
  hidden.resize(uint64_t{outputs} * width);
  result.logits = logits.data();
  result.hidden = hidden.data();
}

Results run(tdl_engine* engine, tdl_pass* pass, const std::vector<Work>& work, bool prefill, bool all_outputs, bool with_logits) {
  Batch batch(work, prefill, info_of(engine).block_size);
  if (all_outputs) {
    for (uint32_t row = 0; row < batch.rows(); ++row) batch.output_row.push_back(static_cast<int32_t>(row));
  }
  const tdl_metadata metadata = batch.metadata();
  Results results(engine, all_outputs ? batch.rows() : static_cast<uint32_t>(work.size()), with_logits);
  Error error;
  tdl_status status = tdl_upload_metadata(pass, &metadata, &error);
  REQUIRE_MESSAGE(status == TDL_OK, error.message);
  status = tdl_step(pass, &results.result, &error);
  REQUIRE_MESSAGE(status == TDL_OK, error.message);
  for (const Work& w : work) {
    if (w.sequence) w.sequence->length += static_cast<uint32_t>(w.tokens.size());
  }
  return results;
}

}  // namespace tdl::test
