// TDL_ENGINE_RANDOM_WEIGHTS: weights without a checkpoint.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/model/weights.h"
#include "tests/runtime/model/tiny_model.h"

using namespace tdl;
using namespace tdl::test;

namespace {

ModelConfig random_config(DType type) {
  ModelConfig c = tiny_config("Qwen3ForCausalLM");
  c.qk_norm = c.qkv_bias = true;
  c.random_dtype = type;
  c.vocab_size = 500;
  c.hidden_size = 32;
  return c;
}

std::vector<float> values_of(const Loaded& loaded, const Matrix& matrix) {
  const std::string raw = loaded.raw(matrix);
  std::vector<float> values;
  for (size_t at = 0; at < raw.size(); at += size_of(matrix.dtype)) {
    float value = 0;
    uint16_t bits = 0;
    if (matrix.dtype == DType::f32) {
      std::memcpy(&value, raw.data() + at, 4);
    } else {
      std::memcpy(&bits, raw.data() + at, 2);
      value = matrix.dtype == DType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

TEST_SUITE("random weights") {
  TEST_CASE("have the config's type, are finite and small, and deviate by 0.02") {
    for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
      CAPTURE(std::string(name_of(type)));
      const ModelConfig config = random_config(type);
      const Loaded loaded(plan_of(config, nullptr), nullptr);
      CHECK(loaded.weights.embed.dtype == type);
      for (const Matrix& matrix : {loaded.weights.embed, loaded.weights.head, loaded.weights.layers[0].qkv, loaded.weights.layers[1].down}) {
        for (const float value : values_of(loaded, matrix)) {
          REQUIRE(std::isfinite(value));
          REQUIRE(std::abs(value) < 0.036f);
        }
      }
      double sum = 0, squares = 0;
      const std::vector<float> embed = values_of(loaded, loaded.weights.embed);
      for (const float value : embed) {
        sum += value;
        squares += static_cast<double>(value) * value;
      }
      const auto count = static_cast<double>(embed.size());
      CHECK(std::abs(sum / count) < 0.001);
      CHECK(std::abs(std::sqrt(squares / count) - 0.02) < 0.001);
    }
  }

  TEST_CASE("are the same numbers in every type, as far as it can hold them") {
    const Loaded wide(plan_of(random_config(DType::f32), nullptr), nullptr), half(plan_of(random_config(DType::f16), nullptr), nullptr),
        brain(plan_of(random_config(DType::bf16), nullptr), nullptr);
    const std::vector<float> exact = values_of(wide, wide.weights.embed), f16 = values_of(half, half.weights.embed), bf16 = values_of(brain, brain.weights.embed);
    REQUIRE(f16.size() == exact.size());
    uint32_t wrong = 0, tiny = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      const float size = std::abs(exact[i]);
      wrong += size < 0x1p-14f ? f16[i] != 0.0f : std::abs(f16[i] - exact[i]) > size * 0x1p-10f;
      wrong += std::abs(bf16[i] - exact[i]) > size * 0x1p-8f;
      tiny += size < 0x1p-14f;
    }
    CHECK(wrong == 0);
    CHECK(tiny > 5);
  }

  TEST_CASE("are the same at every load, and differ between matrices") {
    const ModelConfig config = random_config(DType::bf16);
    const Loaded first(plan_of(config, nullptr), nullptr), second(plan_of(config, nullptr), nullptr);
    CHECK(std::memcmp(first.at(first.base), second.at(second.base), first.bytes) == 0);
    CHECK(first.raw(first.weights.embed) != first.raw(first.weights.head));
    CHECK(first.raw(first.weights.layers[0].qkv) != first.raw(first.weights.layers[1].qkv));
    const std::string gate_up = first.raw(first.weights.layers[0].gate_up);
    CHECK(gate_up.substr(0, gate_up.size() / 2) != gate_up.substr(gate_up.size() / 2));
  }

  TEST_CASE("have norms of one and small biases") {
    const ModelConfig config = random_config(DType::f16);
    const Loaded loaded(plan_of(config, nullptr), nullptr);
    CHECK(loaded.floats(loaded.weights.final_norm, 32) == std::vector<float>(32, 1.0f));
    for (const LayerWeights& layer : loaded.weights.layers) {
      CHECK(loaded.floats(layer.attention_norm, 32) == std::vector<float>(32, 1.0f));
      CHECK(loaded.floats(layer.mlp_norm, 32) == std::vector<float>(32, 1.0f));
      CHECK(loaded.floats(layer.q_norm, 6) == std::vector<float>(6, 1.0f));
      CHECK(loaded.floats(layer.k_norm, 6) == std::vector<float>(6, 1.0f));
      for (const float bias : loaded.floats(layer.qkv_bias, 24)) CHECK(std::abs(bias) < 0.036f);
    }
  }

  TEST_CASE("take the room that a checkpoint's would") {
    ModelConfig config = tiny_config("Qwen3ForCausalLM");
    config.qk_norm = true;
    const TinyCheckpoint checkpoint(tiny_tensors(config));
    CHECK(plan_of(config, nullptr).bytes() == plan_of(config, checkpoint.get()).bytes());
    config.tied_head = true;
    const Weights tied = plan_of(config, nullptr).bind(4096);
    CHECK(tied.head.data == tied.embed.data);
  }
}
