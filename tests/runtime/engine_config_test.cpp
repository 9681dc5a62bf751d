#include "runtime/engine_config.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

using namespace tdl;

namespace {

ModelConfig model_of(uint32_t max_positions = 4096) {
  ModelConfig model;
  model.max_positions = max_positions;
  return model;
}

EngineLimits limits_of(const EngineConfig& config, uint32_t max_positions = 4096) {
  auto limits = resolve(config, model_of(max_positions));
  REQUIRE_MESSAGE(limits.ok(), limits.status().message());
  return *limits;
}

void refused(const EngineConfig& config, Code code, const char* part) {
  const Status status = resolve(config, model_of()).status();
  CAPTURE(std::string(status.message()));
  CHECK(status.code() == code);
  CHECK(std::string(status.message()).find(part) != std::string::npos);
}

// A configuration with one field set.
template <class T>
EngineConfig with(T EngineConfig::*field, std::type_identity_t<T> value) {
  EngineConfig config;
  config.*field = value;
  return config;
}

}  // namespace

TEST_SUITE("engine config") {
  TEST_CASE("zeros come to the defaults of the header") {
    const EngineLimits limits = limits_of({});
    CHECK(limits.max_seqs == 64);
    CHECK(limits.max_rows_per_seq == 1);
    CHECK(limits.max_prefill_rows == 2048);
    CHECK(limits.max_outputs == 64);
    CHECK(limits.max_context == 4096);
    CHECK(limits.block_size == 64);
    CHECK(limits.max_table == 64);
    CHECK(limits.max_lora_rank == 64);
    CHECK(limits.kv_mode == KvMode::caller);
    CHECK(limits.graph_mode == GraphMode::at_create);
    CHECK(limits.flags == 0);
    CHECK(limits.buckets.count == 9);
    CHECK(limits.max_rows() == 2048);
  }

  TEST_CASE("what is given is kept") {
    EngineConfig config;
    config.max_seqs = 10;
    config.max_rows_per_seq = 4;
    config.max_prefill_rows = 20;
    config.max_outputs = 7;
    config.max_context = 1000;
    config.block_size = 16;
    config.max_lora_rank = 8;
    config.kv_mode = 1;
    config.graph_mode = 2;
    config.flags = kBatchInvariant | kRandomWeights;
    const EngineLimits limits = limits_of(config);
    CHECK(limits.max_seqs == 10);
    CHECK(limits.max_rows_per_seq == 4);
    CHECK(limits.max_prefill_rows == 20);
    CHECK(limits.max_outputs == 7);
    CHECK(limits.max_context == 1000);
    CHECK(limits.max_table == 63);
    CHECK(limits.max_lora_rank == 8);
    CHECK(limits.kv_mode == KvMode::pool);
    CHECK(limits.graph_mode == GraphMode::off);
    CHECK(limits.flags == (kBatchInvariant | kRandomWeights));
    CHECK(limits.buckets.sizes[limits.buckets.count - 1] == 10);
    CHECK(limits.max_rows() == 40);
  }

  TEST_CASE("max_outputs is by default a row of every sequence's, times the rows per sequence") {
    EngineConfig config;
    config.max_seqs = 10;
    config.max_rows_per_seq = 4;
    CHECK(limits_of(config).max_outputs == 40);
  }

  TEST_CASE("max_outputs reaches to the rows of the largest pass of either kind") {
    EngineConfig config;
    config.max_seqs = 10;
    config.max_prefill_rows = 20;
    config.max_outputs = 20;
    CHECK(limits_of(config).max_outputs == 20);
    config.max_outputs = 21;
    refused(config, Code::invalid_argument, "max_outputs 21");
    config.max_rows_per_seq = 3;
    config.max_outputs = 30;
    CHECK(limits_of(config).max_outputs == 30);
    config.max_outputs = 31;
    refused(config, Code::invalid_argument, "max_outputs 31");
  }

  TEST_CASE("the layout has the limits' sizes") {
    EngineConfig config;
    config.max_seqs = 10;
    config.max_rows_per_seq = 4;
    config.max_context = 130;
    const LayoutLimits layout = limits_of(config).layout();
    CHECK(layout.max_seqs == 10);
    CHECK(layout.max_rows_per_seq == 4);
    CHECK(layout.max_prefill_rows == 2048);
    CHECK(layout.max_outputs == 40);
    CHECK(layout.max_table == 3);
  }

  TEST_CASE("block sizes are 16, 32, 64 and 128") {
    for (const uint32_t size : {16u, 32u, 64u, 128u}) CHECK(limits_of(with(&EngineConfig::block_size, size)).max_table == 4096 / size);
    for (const uint32_t size : {1u, 8u, 17u, 96u, 256u, 0xFFFFFFFFu}) refused(with(&EngineConfig::block_size, size), Code::invalid_argument, "block_size");
  }

  TEST_CASE("max_context ends with the model's positions") {
    CHECK(limits_of(with(&EngineConfig::max_context, 4096)).max_context == 4096);
    refused(with(&EngineConfig::max_context, 4097), Code::range, "max_context 4097");
    CHECK(limits_of({}, 777).max_context == 777);
  }

  TEST_CASE("sizes that are beyond all sense are refused, without wrapping") {
    refused(with(&EngineConfig::max_seqs, 65537), Code::invalid_argument, "max_seqs 65537");
    refused(with(&EngineConfig::max_prefill_rows, (1u << 20) + 1), Code::invalid_argument, "max_prefill_rows");
    CHECK(limits_of(with(&EngineConfig::max_seqs, 65536)).buckets.count == 49);
    CHECK(limits_of(with(&EngineConfig::max_prefill_rows, 1u << 20)).max_rows() == 1u << 20);
    EngineConfig config;
    config.max_seqs = 65536;
    config.max_rows_per_seq = 16;
    CHECK(limits_of(config).max_outputs == 1u << 20);
    for (const uint32_t rows : {17u, 65536u, 0xFFFFFFFFu}) {
      config.max_rows_per_seq = rows;
      refused(config, Code::invalid_argument, "max_rows_per_seq");
    }
  }

  TEST_CASE("unknown modes and flags are refused") {
    for (const int32_t mode : {-1, 2, INT32_MAX}) refused(with(&EngineConfig::kv_mode, mode), Code::invalid_argument, "kv_mode");
    for (const int32_t mode : {-1, 3, INT32_MIN}) refused(with(&EngineConfig::graph_mode, mode), Code::invalid_argument, "graph_mode");
    for (const uint32_t flags : {8u, 0x80000000u, 9u}) refused(with(&EngineConfig::flags, flags), Code::invalid_argument, "flags");
  }

  TEST_CASE("up to 1024 threads can be asked for") {
    CHECK(resolve(with(&EngineConfig::num_threads, 1024), model_of()).ok());
    refused(with(&EngineConfig::num_threads, 1025), Code::invalid_argument, "num_threads 1025");
  }

  TEST_CASE("what is not there yet is unsupported, by name") {
    refused(with(&EngineConfig::flags, kValidate), Code::unsupported, "TDL_ENGINE_VALIDATE");
    refused(with(&EngineConfig::max_adapters, 1), Code::unsupported, "max_adapters");
  }

  TEST_CASE("a number of blocks and an amount of memory cannot both be given") {
    EngineConfig config;
    config.num_blocks = 10;
    CHECK(resolve(config, model_of()).ok());
    config.kv_memory_bytes = 1 << 20;
    refused(config, Code::invalid_argument, "kv_memory_bytes");
  }

  TEST_CASE("buckets of the caller's own are kept") {
    const std::vector<uint32_t> sizes = {3, 7, 64};
    EngineConfig config;
    config.decode_buckets = sizes.data();
    config.num_decode_buckets = 3;
    const Buckets buckets = limits_of(config).buckets;
    CHECK(std::vector<uint32_t>(buckets.sizes, buckets.sizes + buckets.count) == sizes);
    config.num_decode_buckets = 0;
    CHECK(limits_of(config).buckets.count == 9);
  }

  TEST_CASE("buckets that are null, too many, out of range, out of order or without max_seqs are refused") {
    EngineConfig config;
    config.num_decode_buckets = 1;
    refused(config, Code::invalid_argument, "decode_buckets is null");
    const auto refuse = [&config](const std::vector<uint32_t>& sizes, const char* part) {
      config.decode_buckets = sizes.data();
      config.num_decode_buckets = static_cast<uint32_t>(sizes.size());
      refused(config, Code::invalid_argument, part);
    };
    refuse({0, 64}, "decode_buckets[0] is 0");
    refuse({1, 65}, "decode_buckets[1] is 65");
    refuse({1, 8, 8, 64}, "not ascending at index 2");
    refuse({8, 4, 64}, "not ascending at index 1");
    refuse({1, 32}, "do not contain max_seqs 64");
    std::vector<uint32_t> many;
    for (uint32_t size = 1; size <= 65; ++size) many.push_back(size);
    config.max_seqs = 65;
    refuse(many, "65 decode_buckets");
    many.pop_back();
    config.max_seqs = 64;
    config.decode_buckets = many.data();
    config.num_decode_buckets = 64;
    CHECK(limits_of(config).buckets.count == 64);
  }
}
