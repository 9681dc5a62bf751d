// A model of a few numbers: its config, its tensors by name, and a checkpoint of them in memory.
#pragma once
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model/weight_load.h"
#include "tests/support/safetensors_bytes.h"

namespace tdl::test {

struct StoredTensor {
  std::string dtype;
  std::vector<uint64_t> shape;
  std::string bytes;
};

using Tensors = std::map<std::string, StoredTensor>;

// Vocabulary 5, width 4, 2 layers, 2 heads of 6 over 1 of K and V, inner width 3.
inline ModelConfig tiny_config(const char* architecture) {
  ModelConfig c;
  c.arch = find_arch(architecture);
  REQUIRE(c.arch != nullptr);
  c.architecture = architecture;
  c.vocab_size = 5;
  c.hidden_size = 4;
  c.intermediate_size = 3;
  c.num_layers = 2;
  c.num_heads = 2;
  c.num_kv_heads = 1;
  c.head_dim = 6;
  c.max_positions = 32;
  c.window = {0, 16};
  c.inv_freq = {1.0f, 0.5f, 0.25f};
  return c;
}

// A tensor whose 16-bit or 32-bit elements are all different and all finite in every type.
inline StoredTensor tensor_of(const std::string& dtype, const std::vector<uint64_t>& shape, uint32_t seed) {
  uint64_t count = 1;
  for (const uint64_t size : shape) count *= size;
  StoredTensor tensor{dtype, shape, {}};
  for (uint64_t i = 0; i < count; ++i) {
    if (dtype == "F32") {
      const float value = static_cast<float>(seed) + static_cast<float>(i) * 0.125f;
      tensor.bytes.append(reinterpret_cast<const char*>(&value), 4);
    } else {
      const auto bits = static_cast<uint16_t>(0x3000 + seed * 64 + i);
      tensor.bytes.append(reinterpret_cast<const char*>(&bits), 2);
    }
  }
  return tensor;
}

// All that a checkpoint of the config holds, spelled out.
inline Tensors tiny_tensors(const ModelConfig& c, const std::string& dtype = "BF16") {
  Tensors tensors;
  uint32_t seed = 0;
  const auto add = [&](const std::string& name, const std::vector<uint64_t>& shape) { tensors[name] = tensor_of(dtype, shape, ++seed); };
  add("model.embed_tokens.weight", {5, 4});
  for (int layer = 0; layer < 2; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".";
    add(at + "input_layernorm.weight", {4});
    add(at + "self_attn.q_proj.weight", {12, 4});
    add(at + "self_attn.k_proj.weight", {6, 4});
    add(at + "self_attn.v_proj.weight", {6, 4});
    add(at + "self_attn.o_proj.weight", {4, 12});
    add(at + "post_attention_layernorm.weight", {4});
    add(at + "mlp.gate_proj.weight", {3, 4});
    add(at + "mlp.up_proj.weight", {3, 4});
    add(at + "mlp.down_proj.weight", {4, 3});
    if (c.qkv_bias) {
      add(at + "self_attn.q_proj.bias", {12});
      add(at + "self_attn.k_proj.bias", {6});
      add(at + "self_attn.v_proj.bias", {6});
    }
    if (c.o_bias) add(at + "self_attn.o_proj.bias", {4});
    if (c.mlp_bias) {
      add(at + "mlp.gate_proj.bias", {3});
      add(at + "mlp.up_proj.bias", {3});
      add(at + "mlp.down_proj.bias", {4});
    }
    if (c.qk_norm) {
      add(at + "self_attn.q_norm.weight", {6});
      add(at + "self_attn.k_norm.weight", {6});
    }
  }
  add("model.norm.weight", {4});
  if (!c.tied_head) add("lm_head.weight", {5, 4});
  return tensors;
}

inline std::string checkpoint_bytes(const Tensors& tensors) {
  std::string header = "{", data;
  for (const auto& [name, tensor] : tensors) {
    std::string shape;
    for (const uint64_t size : tensor.shape) shape.append(shape.empty() ? "" : ",").append(std::to_string(size));
    header += (header.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + tensor.bytes.size()) + "]}";
    data += tensor.bytes;
  }
  return safetensors_bytes(header + "}", data);
}

// A checkpoint in memory that lives as long as this.
class TinyCheckpoint {
 public:
  explicit TinyCheckpoint(const Tensors& tensors) : bytes_(checkpoint_bytes(tensors)) {
    REQUIRE(source_.add_memory("model.safetensors", bytes_.data(), bytes_.size()).ok());
    auto opened = Checkpoint::open(source_, "model");
    REQUIRE_MESSAGE(opened.ok(), opened.status().message());
    checkpoint_ = std::make_unique<Checkpoint>(std::move(opened).value());
  }
  Checkpoint* get() const { return checkpoint_.get(); }

 private:
  std::string bytes_;
  Source source_;
  std::unique_ptr<Checkpoint> checkpoint_;
};

// A plan's weights in memory of the host device.
struct Loaded {
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Stream> stream;
  Weights weights;
  uint64_t base, bytes;

  Loaded(const WeightPlan& plan, const Checkpoint* checkpoint) : bytes(plan.bytes()) {
    device = std::move(host_device(1)).value();
    memory = std::move(device->allocate(bytes)).value();
    base = memory->span().address;
    stream = std::move(device->create_stream()).value();
    const Status status = load(plan, checkpoint, [](float) { return false; });
    REQUIRE_MESSAGE(status.ok(), status.message());
    weights = plan.bind(base);
  }
  Status load(const WeightPlan& plan, const Checkpoint* checkpoint, const std::function<bool(float)>& progress) const {
    return load_weights(plan, checkpoint, *device, *stream, base, progress);
  }
  const char* at(uint64_t address) const { return static_cast<const char*>(device->host_view(address)); }
  std::string raw(const Matrix& matrix) const { return {at(matrix.data.address), uint64_t{matrix.out} * matrix.in * size_of(matrix.dtype)}; }
  std::vector<float> floats(DevicePtr<const float> vector, size_t count) const {
    std::vector<float> values(count);
    std::memcpy(values.data(), at(vector.address), sizeof(float) * count);
    return values;
  }
};

inline WeightPlan plan_of(const ModelConfig& config, Checkpoint* checkpoint) {
  const auto device = std::move(host_device(1)).value();
  auto plan = WeightPlan::make(config, *device, checkpoint);
  REQUIRE_MESSAGE(plan.ok(), plan.status().message());
  return std::move(plan).value();
}

}  // namespace tdl::test
