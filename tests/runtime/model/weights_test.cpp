// Weights from a checkpoint: places, packing, widening.  weights_refusal_test.cpp and random_weights_test.cpp have the rest.
#include "runtime/model/weights.h"

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/model/tiny_model.h"

using namespace tdl;
using namespace tdl::test;

namespace {

// A qwen3 with everything a family can have.
ModelConfig full_config() {
  ModelConfig c = tiny_config("Qwen3ForCausalLM");
  c.qkv_bias = c.o_bias = c.mlp_bias = c.qk_norm = true;
  return c;
}

std::vector<float> widened(const StoredTensor& tensor) {
  std::vector<float> values;
  const size_t size = tensor.dtype == "F32" ? 4 : 2;
  for (size_t at = 0; at < tensor.bytes.size(); at += size) {
    float value = 0;
    uint16_t bits = 0;
    std::memcpy(size == 4 ? static_cast<void*>(&value) : &bits, tensor.bytes.data() + at, size);
    values.push_back(size == 4 ? value : tensor.dtype == "BF16" ? bf16_to_f32(bits) : f16_to_f32(bits));
  }
  return values;
}

std::vector<float> operator+(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Address and bytes of everything in the weights.
std::vector<std::pair<uint64_t, uint64_t>> places_of(const ModelConfig& c, const Weights& w) {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  const auto matrix = [&](const Matrix& m) { places.push_back({m.data.address, uint64_t{m.out} * m.in * size_of(m.dtype)}); };
  const auto vector = [&](DevicePtr<const float> v, uint64_t count) {
    if (v) places.push_back({v.address, count * 4});
  };
  matrix(w.embed);
  if (w.head.data != w.embed.data) matrix(w.head);
  vector(w.final_norm, c.hidden_size);
  vector(w.inv_freq, c.inv_freq.size());
  for (const LayerWeights& layer : w.layers) {
    for (const Matrix* m : {&layer.qkv, &layer.o, &layer.gate_up, &layer.down}) matrix(*m);
    vector(layer.attention_norm, c.hidden_size);
    vector(layer.mlp_norm, c.hidden_size);
    vector(layer.q_norm, c.head_dim);
    vector(layer.k_norm, c.head_dim);
    vector(layer.qkv_bias, 24);
    vector(layer.o_bias, c.hidden_size);
    vector(layer.gate_up_bias, 6);
    vector(layer.down_bias, c.hidden_size);
  }
  return places;
}

}  // namespace

TEST_SUITE("weights") {
  TEST_CASE("matrices are loaded as stored, q, k and v packed, gate and up packed") {
    for (const char* dtype : {"BF16", "F16", "F32"}) {
      CAPTURE(std::string(dtype));
      const ModelConfig config = full_config();
      const Tensors tensors = tiny_tensors(config, dtype);
      const TinyCheckpoint checkpoint(tensors);
      const WeightPlan plan = plan_of(config, checkpoint.get());
      const Loaded loaded(plan, checkpoint.get());
      const Weights& w = loaded.weights;
      const auto bytes = [&](const std::string& name) { return tensors.at(name).bytes; };
      const DType type = std::string(dtype) == "BF16" ? DType::bf16 : std::string(dtype) == "F16" ? DType::f16 : DType::f32;
      CHECK(w.embed.dtype == type);
      CHECK(w.embed.out == 5);
      CHECK(w.embed.in == 4);
      CHECK(loaded.raw(w.embed) == bytes("model.embed_tokens.weight"));
      CHECK(loaded.raw(w.head) == bytes("lm_head.weight"));
      REQUIRE(w.layers.size() == 2);
      for (int i = 0; i < 2; ++i) {
        const LayerWeights& layer = w.layers[static_cast<size_t>(i)];
        const std::string at = "model.layers." + std::to_string(i) + ".";
        CHECK(layer.qkv.out == 24);
        CHECK(layer.qkv.in == 4);
        CHECK(layer.qkv.dtype == type);
        CHECK(loaded.raw(layer.qkv) == bytes(at + "self_attn.q_proj.weight") + bytes(at + "self_attn.k_proj.weight") + bytes(at + "self_attn.v_proj.weight"));
        CHECK(layer.o.out == 4);
        CHECK(layer.o.in == 12);
        CHECK(loaded.raw(layer.o) == bytes(at + "self_attn.o_proj.weight"));
        CHECK(layer.gate_up.out == 6);
        CHECK(layer.gate_up.in == 4);
        CHECK(loaded.raw(layer.gate_up) == bytes(at + "mlp.gate_proj.weight") + bytes(at + "mlp.up_proj.weight"));
        CHECK(layer.down.out == 4);
        CHECK(layer.down.in == 3);
        CHECK(loaded.raw(layer.down) == bytes(at + "mlp.down_proj.weight"));
      }
    }
  }

  TEST_CASE("norms and biases become f32, the biases of packed matrices packed") {
    for (const char* dtype : {"BF16", "F16", "F32"}) {
      CAPTURE(std::string(dtype));
      const ModelConfig config = full_config();
      const Tensors tensors = tiny_tensors(config, dtype);
      const TinyCheckpoint checkpoint(tensors);
      const WeightPlan plan = plan_of(config, checkpoint.get());
      const Loaded loaded(plan, checkpoint.get());
      const auto wide = [&](const std::string& name) { return widened(tensors.at(name)); };
      CHECK(loaded.floats(loaded.weights.final_norm, 4) == wide("model.norm.weight"));
      for (int i = 0; i < 2; ++i) {
        const LayerWeights& layer = loaded.weights.layers[static_cast<size_t>(i)];
        const std::string at = "model.layers." + std::to_string(i) + ".";
        CHECK(loaded.floats(layer.attention_norm, 4) == wide(at + "input_layernorm.weight"));
        CHECK(loaded.floats(layer.mlp_norm, 4) == wide(at + "post_attention_layernorm.weight"));
        CHECK(loaded.floats(layer.q_norm, 6) == wide(at + "self_attn.q_norm.weight"));
        CHECK(loaded.floats(layer.k_norm, 6) == wide(at + "self_attn.k_norm.weight"));
        CHECK(loaded.floats(layer.qkv_bias, 24) == wide(at + "self_attn.q_proj.bias") + wide(at + "self_attn.k_proj.bias") + wide(at + "self_attn.v_proj.bias"));
        CHECK(loaded.floats(layer.o_bias, 4) == wide(at + "self_attn.o_proj.bias"));
        CHECK(loaded.floats(layer.gate_up_bias, 6) == wide(at + "mlp.gate_proj.bias") + wide(at + "mlp.up_proj.bias"));
        CHECK(loaded.floats(layer.down_bias, 4) == wide(at + "mlp.down_proj.bias"));
      }
    }
  }

  TEST_CASE("each part may have a type of its own, as long as packed parts agree") {
    const ModelConfig config = full_config();
    Tensors tensors = tiny_tensors(config);
    const std::string at = "model.layers.1.";
    for (const char* name : {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"})
      tensors[at + name] = tensor_of("F32", tensors[at + name].shape, 9);
    tensors[at + "self_attn.k_proj.bias"] = tensor_of("F16", {6}, 3);
    tensors[at + "mlp.down_proj.weight"] = tensor_of("F16", {4, 3}, 4);
    const TinyCheckpoint checkpoint(tensors);
    const WeightPlan plan = plan_of(config, checkpoint.get());
    const Loaded loaded(plan, checkpoint.get());
    const LayerWeights& layer = loaded.weights.layers[1];
    CHECK(layer.qkv.dtype == DType::f32);
    CHECK(layer.down.dtype == DType::f16);
    CHECK(layer.o.dtype == DType::bf16);
    CHECK(loaded.raw(layer.down) == tensors[at + "mlp.down_proj.weight"].bytes);
    CHECK(loaded.floats(layer.qkv_bias, 24) == widened(tensors[at + "self_attn.q_proj.bias"]) + widened(tensors[at + "self_attn.k_proj.bias"]) +
                                                   widened(tensors[at + "self_attn.v_proj.bias"]));
  }

  TEST_CASE("what a family lacks is null") {
    const ModelConfig config = tiny_config("LlamaForCausalLM");
    const TinyCheckpoint checkpoint(tiny_tensors(config));
    const Weights w = plan_of(config, checkpoint.get()).bind(4096);
    for (const LayerWeights& layer : w.layers) {
      CHECK(layer.attention_norm);
      CHECK(layer.mlp_norm);
      for (const auto& vector : {layer.q_norm, layer.k_norm, layer.qkv_bias, layer.o_bias, layer.gate_up_bias, layer.down_bias}) CHECK_FALSE(vector);
    }
  }

  TEST_CASE("every part is aligned to 256 bytes, inside the plan's bytes, and overlaps no other") {
    for (const ModelConfig& config : {full_config(), tiny_config("LlamaForCausalLM")}) {
      const TinyCheckpoint checkpoint(tiny_tensors(config));
      const WeightPlan plan = plan_of(config, checkpoint.get());
      const auto places = places_of(config, plan.bind(1 << 20));
      for (size_t i = 0; i < places.size(); ++i) {
        CHECK(places[i].first % 256 == 0);
        CHECK(places[i].first >= 1 << 20);
        CHECK(places[i].first + places[i].second <= (1 << 20) + plan.bytes());
        for (size_t k = i + 1; k < places.size(); ++k)
          CHECK((places[i].first + places[i].second <= places[k].first || places[k].first + places[k].second <= places[i].first));
      }
    }
  }

  TEST_CASE("nothing is wasted but the alignment, and nothing at all where parts are multiples of it") {
    ModelConfig exact = tiny_config("LlamaForCausalLM");
    exact.vocab_size = exact.hidden_size = exact.intermediate_size = 64;
    exact.head_dim = 64;
    exact.inv_freq.assign(64, 1.0f);
    exact.qkv_bias = exact.mlp_bias = false;
    for (const ModelConfig& config : {exact, full_config(), tiny_config("LlamaForCausalLM")}) {
      const WeightPlan plan = plan_of(config, nullptr);
      uint64_t bytes = 0;
      for (const auto& [address, size] : places_of(config, plan.bind(4096))) bytes += (size + 255) / 256 * 256;
      CHECK(plan.bytes() == bytes);
    }
  }

  TEST_CASE("bind moves every address with the base, the first part's too") {
    const ModelConfig config = full_config();
    const TinyCheckpoint checkpoint(tiny_tensors(config));
    const WeightPlan plan = plan_of(config, checkpoint.get());
    const auto low = places_of(config, plan.bind(4096)), high = places_of(config, plan.bind(uint64_t{1} << 40));
    REQUIRE(low.size() == high.size());
    CHECK(plan.bind(4096).embed.data.address == 4096);
    for (size_t i = 0; i < low.size(); ++i) CHECK(high[i].first - low[i].first == (uint64_t{1} << 40) - 4096);
  }

  TEST_CASE("rotary frequencies and windows are the config's") {
    const ModelConfig config = full_config();
    const TinyCheckpoint checkpoint(tiny_tensors(config));
    const WeightPlan plan = plan_of(config, checkpoint.get());
    const Loaded loaded(plan, checkpoint.get());
    CHECK(loaded.floats(loaded.weights.inv_freq, 3) == std::vector<float>{1.0f, 0.5f, 0.25f});
    CHECK(loaded.weights.layers[0].window == 0);
    CHECK(loaded.weights.layers[1].window == 16);
  }

  TEST_CASE("a tied head is the embedding's memory") {
    ModelConfig config = tiny_config("LlamaForCausalLM");
    const TinyCheckpoint untied(tiny_tensors(config));
    const uint64_t bytes = plan_of(config, untied.get()).bytes();
    config.tied_head = true;
    const TinyCheckpoint checkpoint(tiny_tensors(config));
    const WeightPlan plan = plan_of(config, checkpoint.get());
    const Weights w = plan.bind(4096);
    CHECK(w.head.data == w.embed.data);
    CHECK(w.head.out == 5);
    CHECK(w.head.dtype == DType::bf16);
    CHECK(plan.bytes() == bytes - 256);
  }

  TEST_CASE("a tied head that is stored all the same is the embedding when it equals it, else a matrix of its own") {
    ModelConfig config = tiny_config("LlamaForCausalLM");
    config.tied_head = true;
    Tensors tensors = tiny_tensors(config);
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
    const TinyCheckpoint same(tensors);
    const Weights tied = plan_of(config, same.get()).bind(4096);
    CHECK(tied.head.data == tied.embed.data);

    tensors["lm_head.weight"].bytes[7] ^= 1;
    const TinyCheckpoint different(tensors);
    const WeightPlan plan = plan_of(config, different.get());
    const Loaded loaded(plan, different.get());
    CHECK(loaded.weights.head.data != loaded.weights.embed.data);
    CHECK(loaded.raw(loaded.weights.head) == tensors["lm_head.weight"].bytes);
    CHECK(loaded.raw(loaded.weights.embed) == tensors["model.embed_tokens.weight"].bytes);
  }

  TEST_CASE("rotary buffers of old checkpoints are passed over") {
    const ModelConfig config = tiny_config("LlamaForCausalLM");
    Tensors tensors = tiny_tensors(config);
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = tensor_of("F32", {3}, 1);
    const TinyCheckpoint checkpoint(tensors);
    CHECK(WeightPlan::make(config, *std::move(host_device(1)).value(), checkpoint.get()).ok());
  }

  TEST_CASE("progress begins at 0, never goes back and ends at 1") {
    const ModelConfig config = full_config();
    const TinyCheckpoint checkpoint(tiny_tensors(config));
    const WeightPlan plan = plan_of(config, checkpoint.get());
    const Loaded place(plan, checkpoint.get());
    std::vector<float> seen;
    CHECK(place.load(plan, checkpoint.get(), [&](float fraction) {
      seen.push_back(fraction);
      return false;
    }).ok());
    REQUIRE(seen.size() > 30);
    CHECK(seen.front() == 0.0f);
    CHECK(seen.back() == 1.0f);
    for (size_t i = 1; i < seen.size(); ++i) CHECK(seen[i] >= seen[i - 1]);
    CHECK(seen[seen.size() - 2] < 1.0f);
  }
}
