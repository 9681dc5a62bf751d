// Checkpoints that do not fit their model, and loads that fail.
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/model/weights.h"
#include "tests/runtime/model/tiny_model.h"
#include "tests/support/fault.h"
#include "tests/support/plan_device.h"
#include "tests/support/temp_folder.h"

using namespace tdl;
using namespace tdl::test;

namespace {

ModelConfig full_config() {
  ModelConfig c = tiny_config("Qwen3ForCausalLM");
  c.qkv_bias = c.o_bias = c.mlp_bias = c.qk_norm = true;
  return c;
}

void refused(const ModelConfig& config, const Tensors& tensors, Code code, const std::string& part) {
  const TinyCheckpoint checkpoint(tensors);
  const Status status = WeightPlan::make(config, *std::move(host_device(1)).value(), checkpoint.get()).status();
  CAPTURE(std::string(status.message()));
  CAPTURE(part);
  CHECK(status.code() == code);
  CHECK(std::string(status.message()).find(part) != std::string::npos);
}

}  // namespace

TEST_SUITE("weights refuse") {
  TEST_CASE("any tensor that is missing, by name") {
    const ModelConfig config = full_config();
    const Tensors all = tiny_tensors(config);
    CHECK(all.size() == 3 + 2 * 18);
    for (const auto& [name, tensor] : all) {
      Tensors tensors = all;
      tensors.erase(name);
      refused(config, tensors, Code::not_found, name);
    }
  }

  TEST_CASE("any tensor of another shape, transposed ones too, by name") {
    const ModelConfig config = full_config();
    const Tensors all = tiny_tensors(config);
    for (const auto& [name, tensor] : all) {
      std::vector<std::vector<uint64_t>> shapes = {{tensor.shape[0] + 1}, {1, tensor.shape[0]}, {tensor.shape[0], 1, 1}};
      if (tensor.shape.size() == 2) {
        shapes.push_back({tensor.shape[0] + 1, tensor.shape[1]});
        if (tensor.shape[0] != tensor.shape[1]) shapes.push_back({tensor.shape[1], tensor.shape[0]});
      }
      for (const auto& shape : shapes) {
        Tensors tensors = all;
        tensors[name] = tensor_of("BF16", shape, 1);
        refused(config, tensors, Code::format, name);
      }
    }
  }

  TEST_CASE("parts of one packed matrix in different types, naming both") {
    const ModelConfig config = full_config();
    const Tensors all = tiny_tensors(config);
    for (const char* name : {"self_attn.k_proj.weight", "self_attn.v_proj.weight", "mlp.up_proj.weight"}) {
      for (const char* dtype : {"F16", "F32"}) {
        const std::string full = std::string("model.layers.1.") + name;
        Tensors tensors = all;
        tensors[full] = tensor_of(dtype, all.at(full).shape, 1);
        refused(config, tensors, Code::unsupported, full);
        refused(config, tensors, Code::unsupported, full.find("mlp") == std::string::npos ? "q_proj.weight" : "gate_proj.weight");
      }
    }
  }

  TEST_CASE("tensors of types that are none of ours") {
    const ModelConfig config = full_config();
    Tensors tensors = tiny_tensors(config);
    tensors["model.norm.weight"] = {"I16", {4}, "abcdefgh"};
    refused(config, tensors, Code::unsupported, "I16");
  }

  TEST_CASE("tensors that nothing explains, by name") {
    const ModelConfig config = full_config();
    for (const char* name : {"model.layers.2.input_layernorm.weight", "model.extra", "zzz", "model.layers.0.self_attn.q_proj.lora_A.weight"}) {
      Tensors tensors = tiny_tensors(config);
      tensors[name] = tensor_of("BF16", {4}, 1);
      refused(config, tensors, Code::format, name);
    }
  }

  TEST_CASE("biases and norms that the config does not speak of") {
    const ModelConfig plain = tiny_config("LlamaForCausalLM");
    for (const char* name : {"model.layers.0.self_attn.q_proj.bias", "model.layers.1.mlp.down_proj.bias", "model.layers.0.self_attn.q_norm.weight"}) {
      Tensors tensors = tiny_tensors(plain);
      tensors[name] = tensor_of("BF16", {4}, 1);
      refused(plain, tensors, Code::format, name);
    }
  }

  TEST_CASE("a tied head that is stored in another shape") {
    ModelConfig config = tiny_config("LlamaForCausalLM");
    config.tied_head = true;
    Tensors tensors = tiny_tensors(config);
    tensors["lm_head.weight"] = tensor_of("BF16", {6, 4}, 1);
    refused(config, tensors, Code::format, "lm_head.weight");
  }
}

TEST_SUITE("weights fail") {
  TEST_CASE("when reading does, with the tensor's name, and can be loaded again") {
    const ModelConfig config = full_config();
    const TempFolder folder;
    folder.write("model.safetensors", checkpoint_bytes(tiny_tensors(config)));
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    Checkpoint checkpoint = std::move(Checkpoint::open(source, "model")).value();
    const WeightPlan plan = plan_of(config, &checkpoint);
    const Loaded place(plan, &checkpoint);
    const auto load = [&] { return place.load(plan, &checkpoint, [](float) { return false; }); };
    for (const int32_t countdown : {0, 1, 5, 38}) {
      CAPTURE(countdown);
      const Fault fault(os::Site::read_file, countdown);
      const Status status = load();
      CHECK(status.code() == Code::io);
      CHECK(std::string(status.message()).find(countdown == 38 ? "tensor 'lm_head.weight'" : "tensor 'model.") != std::string::npos);
      CHECK(fault.hits() == 1);
      CHECK(load().ok());
    }
  }

  TEST_CASE("when progress says so, at its first call, in the middle and at its last") {
    const ModelConfig config = full_config();
    const TinyCheckpoint checkpoint(tiny_tensors(config));
    const WeightPlan plan = plan_of(config, checkpoint.get());
    const Loaded place(plan, checkpoint.get());
    for (const int stop : {0, 7, 39}) {
      int calls = 0;
      CHECK(place.load(plan, checkpoint.get(), [&](float) { return calls++ == stop; }).code() == Code::cancelled);
      CHECK(calls == stop + 1);
    }
  }
}
