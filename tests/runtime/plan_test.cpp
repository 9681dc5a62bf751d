#include "runtime/plan.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/plan_device.h"

using namespace tdl;
using tdl::test::PlanDevice;

namespace {

ModelConfig small_model() {
  ModelConfig model;
  model.vocab_size = 1000;
  model.hidden_size = 64;
  model.intermediate_size = 160;
  model.num_layers = 3;
  model.num_heads = 4;
  model.num_kv_heads = 2;
  model.head_dim = 32;
  model.max_positions = 1024;
  return model;
}

struct Request {
  EngineConfig config;
  ModelConfig model = small_model();
  uint64_t weight_bytes = 12345;
  PlanDevice device;

  Request() {
    config.max_seqs = 8;
    config.max_prefill_rows = 100;
  }
  EngineLimits limits() const {
    auto limits = resolve(config, model);
    REQUIRE_MESSAGE(limits.ok(), limits.status().message());
    return *limits;
  }
  Result<MemoryPlan> make() const { return make_plan(config, limits(), model, weight_bytes, DType::bf16, device); }
  MemoryPlan plan() const {
    auto plan = make();
    REQUIRE_MESSAGE(plan.ok(), plan.status().message());
    return std::move(plan).value();
  }
};

constexpr uint64_t kBlockBytes = 3 * 2 * 2 * 64 * 32 * 4;  // layers, heads, K and V, positions, elements, f32

}  // namespace

TEST_SUITE("memory plan") {
  TEST_CASE("every part of the arena has its room, aligned, and no two overlap") {
    for (const uint32_t odd : {0u, 1u, 77u}) {
      Request request;
      request.config.max_seqs += odd;
      request.config.max_prefill_rows += odd;
      request.model.vocab_size += odd;
      request.model.num_kv_heads = odd == 1 ? 1 : 4;
      const MemoryPlan plan = request.plan();
      const EngineLimits limits = request.limits();
      const ModelConfig& m = request.model;
      const uint64_t rows = limits.max_rows(), outputs = limits.max_outputs;
      const std::vector<std::pair<uint64_t, uint64_t>> parts = {
          {plan.weights_at, request.weight_bytes},
          {plan.hidden_at, rows * m.hidden_size * 4},
          {plan.normed_at, rows * m.hidden_size * 4},
          {plan.qkv_at, rows * (m.num_heads + 2 * m.num_kv_heads) * m.head_dim * 4},
          {plan.attention_at, rows * m.num_heads * m.head_dim * 4},
          {plan.gate_up_at, rows * 2 * m.intermediate_size * 4},
          {plan.inner_at, rows * m.intermediate_size * 4},
          {plan.cos_sin_at, rows * m.head_dim * 4},
          {plan.partials_at, uint64_t{plan.max_chunks} * m.num_heads * (m.head_dim + 2) * 4},
          {plan.logits_at, outputs * m.vocab_size * 4},
          {plan.hidden_out_at, outputs * m.hidden_size * 4},
          {plan.results_at, outputs * 8},
          {plan.block_at, plan.block.bytes},
          {plan.kv_at, plan.num_blocks * plan.kv.bytes_per_block()},
      };
      for (size_t i = 0; i < parts.size(); ++i) {
        CAPTURE(i);
        CHECK(parts[i].first % 256 == 0);
        CHECK(parts[i].first + parts[i].second <= plan.arena_bytes);
        for (size_t k = i + 1; k < parts.size(); ++k) {
          CAPTURE(k);
          CHECK((parts[i].first + parts[i].second <= parts[k].first || parts[k].first + parts[k].second <= parts[i].first));
        }
      }
    }
  }

  TEST_CASE("the groups add up to the arena, and each is what its parts take") {
    const MemoryPlan plan = Request().plan();
    CHECK(plan.weights + plan.kv_cache + plan.adapters + plan.activations + plan.metadata + plan.workspace == plan.arena_bytes);
    CHECK(plan.weights == align_up(12345, 256));
    CHECK(plan.metadata == plan.block.bytes);
    CHECK(plan.kv_cache == plan.num_blocks * plan.kv.bytes_per_block());
    CHECK(plan.adapters == 0);
    CHECK(plan.host_pinned == 2 * plan.block.bytes + kTickets * 8 * 8);
  }

  TEST_CASE("the cache is by default enough for every sequence at its longest") {
    const MemoryPlan plan = Request().plan();
    CHECK(plan.kv.bytes_per_block() == kBlockBytes);
    CHECK(plan.num_blocks == 8 * 16);
  }

  TEST_CASE("without knowing the free memory, the default is still enough for every sequence") {
    Request request;
    request.device.free = 0;
    CHECK(request.plan().num_blocks == 8 * 16);
    CHECK(request.plan().device_free == 0);
  }

  TEST_CASE("the cache takes at most a quarter of what is free after the rest") {
    Request request;
    const MemoryPlan whole = request.plan();
    const uint64_t other = whole.arena_bytes - whole.kv_cache + whole.host_pinned;
    request.device.free = other + 4 * 20 * kBlockBytes;
    CHECK(request.plan().num_blocks == 20);
    CHECK(request.plan().device_free == request.device.free);
    request.device.free -= 1;
    CHECK(request.plan().num_blocks == 19);
  }

  TEST_CASE("less than one sequence at its longest is out of memory, with the figures") {
    Request request;
    const MemoryPlan whole = request.plan();
    const uint64_t other = whole.arena_bytes - whole.kv_cache + whole.host_pinned;
    request.device.free = other - 1;  // the rest alone is too much: no advice about the cache then
    const Status rest = request.make().status();
    CHECK(rest.code() == Code::out_of_memory);
    CHECK(rest.required() == other);
    CHECK(std::string(rest.message()).find(std::to_string(other) + " bytes") != std::string::npos);
    request.device.free = other;
    const Status status = request.make().status();
    CHECK(status.code() == Code::out_of_memory);
    CHECK(status.required() == 16 * kBlockBytes);
    const std::string message = status.message();
    CAPTURE(message);
    CHECK(message.find("1024 tokens") != std::string::npos);
    CHECK(message.find("16 KV blocks") != std::string::npos);
    CHECK(message.find("room for 0 (0 bytes)") != std::string::npos);
    request.device.free = 0;
    request.config.num_blocks = 3;
    CHECK(std::string(request.make().status().message()).find("room for 3 (" + std::to_string(3 * kBlockBytes) + " bytes)") != std::string::npos);
  }

  TEST_CASE("a number of blocks is taken as it is, if a sequence fits") {
    Request request;
    request.device.free = 1000;  // not asked
    request.config.num_blocks = 16;
    CHECK(request.plan().num_blocks == 16);
    request.config.num_blocks = 15;
    CHECK(request.make().status().code() == Code::out_of_memory);
    request.config.max_context = 15 * 64;
    CHECK(request.plan().num_blocks == 15);
  }

  TEST_CASE("an amount of memory is filled with whole blocks") {
    Request request;
    request.config.kv_memory_bytes = 17 * kBlockBytes;
    CHECK(request.plan().num_blocks == 17);
    request.config.kv_memory_bytes -= 1;
    CHECK(request.plan().num_blocks == 16);
    request.config.kv_memory_bytes = 1;
    CHECK(request.make().status().code() == Code::out_of_memory);
  }

  TEST_CASE("more blocks than can be numbered is over the limit") {
    Request request;
    request.config.num_blocks = INT32_MAX;
    CHECK(request.plan().num_blocks == INT32_MAX);
    request.config.num_blocks = 1u << 31;
    CHECK(request.make().status().code() == Code::limit);
    CHECK(request.make().status().required() == uint64_t{1} << 31);
    request.config.num_blocks = 0;
    request.config.kv_memory_bytes = (uint64_t{1} << 31) * kBlockBytes;
    CHECK(request.make().status().code() == Code::limit);
  }

  TEST_CASE("more memory than can be addressed is out of memory, without wrapping") {
    Request request;
    request.config.num_blocks = INT32_MAX;
    request.model.num_layers = 1u << 16;
    request.model.num_kv_heads = 1u << 10;
    CHECK(request.make().status().code() == Code::out_of_memory);
    request.config.num_blocks = 0;
    request.config.kv_memory_bytes = UINT64_MAX;
    CHECK(request.make().status().code() == Code::out_of_memory);
    request.config.kv_memory_bytes = 0;
    request.device.free = UINT64_MAX;
    request.weight_bytes = (uint64_t{1} << 62) + 1;
    CHECK(request.make().status().code() == Code::out_of_memory);
  }

  TEST_CASE("the cache has the device's element type, or the one asked for") {
    Request request;
    CHECK(request.plan().kv_dtype == DType::f32);
    request.config.kv_dtype = 1;
    CHECK(request.plan().kv_dtype == DType::f32);
    request.config.kv_dtype = 2;
    const Status status = request.make().status();
    CHECK(status.code() == Code::unsupported);
    CHECK(std::string(status.message()) == "kv_dtype bf16 on device plan");
    request.device.bf16 = true;
    CHECK(request.plan().kv_dtype == DType::bf16);
    CHECK(request.plan().kv.bytes_per_block() == kBlockBytes / 2);
    request.config.kv_dtype = 3;
    CHECK(request.make().status().code() == Code::unsupported);
    for (const int32_t type : {-1, 4, INT32_MAX}) {
      request.config.kv_dtype = type;
      CHECK(request.make().status().code() == Code::invalid_argument);
    }
  }

  TEST_CASE("attention's partials serve one longest row always, and eight where that is little") {
    Request request;
    request.device.free = 0;
    CHECK(request.plan().max_chunks == 8 * 4);
    request.model.max_positions = 100;
    CHECK(request.plan().max_chunks == 8);
    request.model.max_positions = 256 * 200;
    CHECK(request.plan().max_chunks == 1024);
    request.model.max_positions = 256 * 2000 + 1;
    CHECK(request.plan().max_chunks == 2001);
  }

  TEST_CASE("validation's bits and a pool's reference counts are counted") {
    Request request;
    const uint64_t caller = request.plan().host_pageable;
    CHECK(caller == (8 * 16 * 64 + 8 * 16) / 8);
    request.config.kv_mode = 1;
    CHECK(request.plan().host_pageable == caller + 8 * 16 * 8);
  }

  TEST_CASE("activations and outputs lie where the plan says") {
    const MemoryPlan plan = Request().plan();
    const uint64_t base = 1 << 20;
    const Activations a = plan.activations_at(base);
    CHECK(a.hidden.address == base + plan.hidden_at);
    CHECK(a.normed.address == base + plan.normed_at);
    CHECK(a.qkv.address == base + plan.qkv_at);
    CHECK(a.attention.address == base + plan.attention_at);
    CHECK(a.gate_up.address == base + plan.gate_up_at);
    CHECK(a.inner.address == base + plan.inner_at);
    CHECK(a.cos_sin.address == base + plan.cos_sin_at);
    CHECK(a.partials.address == base + plan.partials_at);
    CHECK(a.max_chunks == plan.max_chunks);
    const Outputs out = plan.outputs_at(base, 8);
    CHECK(out.logits.address == base + plan.logits_at);
    CHECK(out.hidden.address == base + plan.hidden_out_at);
    CHECK(out.row_status.address == base + plan.results_at);
    CHECK(out.tokens.address == base + plan.results_at + 8 * 4);
  }
}
