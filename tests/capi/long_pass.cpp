#include "tests/capi/long_pass.h"

#include <doctest/doctest.h>

#include <thread>

namespace tdl::test {
namespace {

constexpr std::string_view kConfig = R"({
  "architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 8, "num_attention_heads": 4,
  "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "eos_token_id": 2})";
constexpr uint32_t kBlock = 64, kBlocksEach = kLongRows / kBlock + 1;

}  // namespace

EngineHandle make_long_engine(const std::function<void(tdl_engine_config&)>& adjust) {
  tdl_source* source = nullptr;
  REQUIRE(tdl_source_create(&source, nullptr) == TDL_OK);
  const SourceHandle owner(source);
  REQUIRE(tdl_source_add_memory(source, "config.json", 11, kConfig.data(), kConfig.size(), nullptr) == TDL_OK);
  return make_engine("", [&](tdl_engine_config& config) {
    config.model_path = nullptr;
    config.model_source = source;
    config.flags = TDL_ENGINE_RANDOM_WEIGHTS;
    config.max_seqs = 2;
    config.max_prefill_rows = 2 * kLongRows;
    config.max_context = kBlocksEach * kBlock;
    if (adjust) adjust(config);
  });
}

Sequence long_sequence(uint32_t index) {
  Sequence sequence;
  for (uint32_t i = 0; i < kBlocksEach; ++i) sequence.blocks.push_back(static_cast<int32_t>(2 * i + index));
  return sequence;
}

std::vector<uint32_t> some_tokens(uint32_t count, uint32_t seed) {
  std::vector<uint32_t> tokens;
  for (uint32_t i = 0; i < count; ++i) tokens.push_back((17 * i + 101 * seed + 3) % 192);
  return tokens;
}

void upload(tdl_engine* engine, tdl_pass* pass, const std::vector<Work>& work, bool prefill) {
  const Batch batch(work, prefill, info_of(engine).block_size);
  const tdl_metadata metadata = batch.metadata();
  Error error;
  REQUIRE_MESSAGE(tdl_upload_metadata(pass, &metadata, &error) == TDL_OK, error.message);
}

void await_inside(tdl_engine* engine) {
  for (;;) {
    const tdl_status status = tdl_kv_copy(engine, nullptr, nullptr, 0, nullptr);
    if (status == TDL_E_BUSY) return;
    REQUIRE(status == TDL_OK);
    std::this_thread::yield();
  }
}

tdl_status step_anyhow(tdl_pass* pass, tdl_step_result* result) {
  for (;;) {
    const tdl_status status = tdl_step(pass, result, nullptr);
    if (status != TDL_E_BUSY) return status;
  }
}

}  // namespace tdl::test
