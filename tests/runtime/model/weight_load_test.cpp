// Loading through the pinned ring, into memory that the host does not see, against loading straight into it.
#include "runtime/model/weight_load.h"

#include <doctest/doctest.h>

#include "tests/runtime/model/tiny_model.h"
#include "tests/support/blind_device.h"
#include "tests/support/fault.h"

namespace {

using namespace tdl;
using namespace tdl::test;

// An embedding of more than two parts of the ring, and a head of a little more than one.
constexpr uint32_t kVocab = (2 * kLoadPartBytes + 1000) / (4 * sizeof(uint16_t));

ModelConfig large_config() {
  ModelConfig config = tiny_config("Qwen3ForCausalLM");
  config.qk_norm = config.qkv_bias = true;
  config.vocab_size = kVocab;
  return config;
}

Tensors large_tensors(const ModelConfig& config, const std::string& dtype) {
  Tensors tensors = tiny_tensors(config, dtype);
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) tensors[name] = tensor_of(dtype, {kVocab, 4}, 3);
  return tensors;
}

// The weights' memory after loading on a device, as bytes.
struct Place {
  BlindDevice device;
  std::unique_ptr<Stream> stream = std::move(device.create_stream()).value();
  std::unique_ptr<DeviceMemory> memory;

  Status load(const WeightPlan& plan, const Checkpoint* checkpoint, const std::function<bool(float)>& progress = [](float) { return false; }) {
    if (!memory) memory = std::move(device.allocate(plan.bytes())).value();
    return load_weights(plan, checkpoint, device, *stream, memory->span().address, progress);
  }
  std::string bytes() { return {static_cast<const char*>(device.real().host_view(memory->span().address)), memory->span().bytes}; }
};

WeightPlan plan_on(const Device& device, const ModelConfig& config, Checkpoint* checkpoint) {
  auto plan = WeightPlan::make(config, device, checkpoint);
  REQUIRE_MESSAGE(plan.ok(), plan.status().message());
  return std::move(plan).value();
}

}  // namespace

TEST_SUITE("loading through the ring") {
  TEST_CASE("gives the bytes that loading in place gives, for types that are kept") {
    const ModelConfig config = large_config();
    for (const char* dtype : {"BF16", "F16"}) {
      CAPTURE(dtype);
      const Tensors tensors = large_tensors(config, dtype);
      const TinyCheckpoint seen(tensors), unseen(tensors);
      const Loaded straight(plan_of(config, seen.get()), seen.get());
      Place place;
      const WeightPlan plan = plan_on(place.device, config, unseen.get());
      CHECK_FALSE(plan.narrows());
      REQUIRE(place.load(plan, unseen.get()).ok());
      CHECK(place.bytes() == std::string(straight.at(straight.base), straight.bytes));
    }
  }

  TEST_CASE("keeps f32 matrices in bf16, rounded to nearest, and vectors in f32") {
    const ModelConfig config = large_config();
    const Tensors tensors = large_tensors(config, "F32");
    const TinyCheckpoint checkpoint(tensors);
    Place place;
    const WeightPlan plan = plan_on(place.device, config, checkpoint.get());
    CHECK(plan.narrows());
    REQUIRE(place.load(plan, checkpoint.get()).ok());
    const std::string bytes = place.bytes();
    uint64_t wrong = 0;
    for (const WeightPiece& piece : plan.pieces()) {
      const std::string& stored = tensors.at(piece.name).bytes;
      const bool matrix = tensors.at(piece.name).shape.size() == 2;
      REQUIRE(piece.kept == (matrix ? DType::bf16 : DType::f32));
      for (uint64_t i = 0; i < stored.size() / 4; ++i) {
        float value;
        std::memcpy(&value, stored.data() + 4 * i, 4);
        const uint16_t half = f32_to_bf16(value);
        wrong += matrix ? std::memcmp(bytes.data() + piece.offset + 2 * i, &half, 2) != 0 : std::memcmp(bytes.data() + piece.offset + 4 * i, &value, 4) != 0;
      }
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("random weights are those of a device that the host sees") {
    const ModelConfig config = tiny_config("LlamaForCausalLM");
    const Loaded straight(plan_of(config, nullptr), nullptr);
    Place place;
    REQUIRE(place.load(plan_on(place.device, config, nullptr), nullptr).ok());
    CHECK(place.bytes() == std::string(straight.at(straight.base), straight.bytes));
  }

  TEST_CASE("a failed or cancelled load says so and can be repeated") {
    const ModelConfig config = large_config();
    const TinyCheckpoint checkpoint(large_tensors(config, "BF16"));
    Place place;
    const WeightPlan plan = plan_on(place.device, config, checkpoint.get());
    int calls = 0;
    CHECK(place.load(plan, checkpoint.get(), [&](float) { return ++calls == 3; }).code() == Code::cancelled);
    CHECK(calls == 3);
    {
      const Fault fault(os::Site::map_pages);  // the ring: the weights' own memory is there already
      CHECK(place.load(plan, checkpoint.get()).code() == Code::out_of_memory);
      CHECK(fault.hits() == 1);
    }
    CHECK(place.load(plan, checkpoint.get()).ok());
  }
}
