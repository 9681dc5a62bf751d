#include "runtime/load/rope.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace tdl;

namespace {

struct Parsed {
  explicit Parsed(const std::string& text)
      : document(JsonDocument::parse(text, "config.json")), fields("config.json", document.value().root()) {}
  Result<JsonDocument> document;
  Fields fields;
};

// What transformers 5.17's modeling_rope_utils.py gives, run in f32.
struct Expected {
  const char* name;
  const char* config;
  uint32_t head_dim;
  float scale;
  std::vector<std::pair<uint32_t, float>> frequencies;
};
const Expected kExpected[] = {
    {"default",
     R"({"max_position_embeddings": 4096, "rope_theta": 1000000.0})", 80, 1.0f,
     {{0, 1.0f}, {1, 0.707945764f}, {5, 0.177827939f}, {10, 0.0316227786f}, {13, 0.0112201869f}, {20, 0.00100000005f},
      {26, 0.000125892577f}, {30, 3.16227743e-05f}, {38, 1.99526266e-06f}, {39, 1.41253702e-06f}}},
    {"linear",
     R"({"max_position_embeddings": 4096, "rope_parameters": {"factor": 4.0, "rope_theta": 10000.0, "rope_type": "linear"}})", 96, 1.0f,
     {{0, 0.25f}, {1, 0.206351057f}, {6, 0.079056941f}, {12, 0.0250000004f}, {16, 0.011603971f}, {24, 0.00249999994f},
      {32, 0.000538608583f}, {36, 0.000250000012f}, {46, 3.66949898e-05f}, {47, 3.02881872e-05f}}},
    {"llama3, the golden model's",
     R"({"max_position_embeddings": 4096, "rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0,
         "low_freq_factor": 1.0, "original_max_position_embeddings": 64, "rope_type": "llama3"}})", 64, 1.0f,
     {{0, 1.0f}, {1, 0.66360122f}, {4, 0.079403013f}, {8, 0.00470075384f}, {10, 0.00207005511f}, {16, 0.000176776681f},
      {21, 2.27489272e-05f}, {24, 6.64787058e-06f}, {30, 5.6770881e-07f}, {31, 3.76732288e-07f}}},
    {"llama3, that of Llama 3.1",
     R"({"max_position_embeddings": 131072, "rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0,
         "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}})", 128, 1.0f,
     {{0, 1.0f}, {1, 0.814617217f}, {8, 0.193922758f}, {16, 0.0376060307f}, {21, 0.0134904208f}, {32, 0.000524846022f},
      {42, 2.27489272e-05f}, {48, 6.64787058e-06f}, {62, 3.76732288e-07f}, {63, 3.06892588e-07f}}},
    {"yarn, the golden model's",
     R"({"max_position_embeddings": 4096, "rope_parameters": {"factor": 4.0, "original_max_position_embeddings": 16,
         "rope_theta": 1000000.0, "rope_type": "yarn"}})", 64, 1.13862944f,
     {{0, 1.0f}, {1, 0.487036198f}, {4, 0.0444569848f}, {8, 0.00790569466f}, {10, 0.00333380373f}, {16, 0.000250000012f},
      {21, 2.88695519e-05f}, {24, 7.90569356e-06f}, {30, 5.92843435e-07f}, {31, 3.84981632e-07f}}},
    {"yarn, that of Qwen",
     R"({"max_position_embeddings": 32768, "rope_theta": 1000000.0, "rope_scaling": {"factor": 4.0,
         "original_max_position_embeddings": 32768, "type": "yarn"}})", 128, 1.13862944f,
     {{0, 1.0f}, {1, 0.805842221f}, {8, 0.177827939f}, {16, 0.0316227786f}, {21, 0.0107460786f}, {32, 0.000602941145f},
      {42, 2.88695519e-05f}, {48, 7.90569356e-06f}, {62, 3.84981632e-07f}, {63, 3.10234441e-07f}}},
    {"yarn with mscale, that of DeepSeek",
     R"({"max_position_embeddings": 163840, "rope_theta": 10000.0, "rope_scaling": {"factor": 40,
         "original_max_position_embeddings": 4096, "type": "yarn", "mscale": 1.0, "mscale_all_dim": 0.707, "beta_fast": 32,
         "beta_slow": 1}})", 64, 1.0857264f,
     {{0, 1.0f}, {1, 0.749894202f}, {4, 0.316227764f}, {8, 0.100000001f}, {10, 0.0562341288f}, {16, 0.00550000044f},
      {21, 0.000414990413f}, {24, 2.49999994e-05f}, {30, 4.44569832e-06f}, {31, 3.33380353e-06f}}},
    {"yarn, not truncated, with attention_factor",
     R"({"max_position_embeddings": 131072, "rope_theta": 150000, "rope_scaling": {"factor": 32.0,
         "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": false, "beta_fast": 32.0, "beta_slow": 1.0,
         "attention_factor": 1.5}})", 64, 1.5f,
     {{0, 1.0f}, {1, 0.689044297f}, {4, 0.225418001f}, {8, 0.05081328f}, {10, 0.0193350017f}, {16, 0.000456483918f},
      {21, 1.25325696e-05f}, {24, 4.09997847e-06f}, {30, 4.38797855e-07f}, {31, 3.0235114e-07f}}},
    {"yarn without factor, other betas",
     R"({"max_position_embeddings": 8192, "rope_theta": 10000, "rope_scaling": {"factor": null,
         "original_max_position_embeddings": 2048, "rope_type": "yarn", "beta_fast": 16, "beta_slow": 2}})", 128, 1.13862944f,
     {{0, 1.0f}, {1, 0.865964353f}, {8, 0.316227764f}, {16, 0.100000001f}, {21, 0.0464140922f}, {32, 0.00437500002f},
      {42, 0.000592843455f}, {48, 0.000250000012f}, {62, 3.33380376e-05f}, {63, 2.88695519e-05f}}},
    {"yarn without original length",
     R"({"max_position_embeddings": 8192, "rope_theta": 10000, "rope_scaling": {"factor": 2, "rope_type": "yarn"}})", 64, 1.06931472f,
     {{0, 1.0f}, {1, 0.749894202f}, {4, 0.316227764f}, {8, 0.100000001f}, {10, 0.0562341288f}, {16, 0.0084615387f},
      {21, 0.00155051367f}, {24, 0.000538461551f}, {30, 8.89139701e-05f}, {31, 6.66760752e-05f}}},
    {"yarn, original length outside",
     R"({"max_position_embeddings": 8192, "rope_theta": 10000, "original_max_position_embeddings": 1024, "rope_scaling":
         {"factor": 2, "rope_type": "yarn", "original_max_position_embeddings": 4096}})", 64, 1.06931472f,
     {{0, 1.0f}, {1, 0.749894202f}, {4, 0.316227764f}, {8, 0.0884615406f}, {10, 0.0454198718f}, {16, 0.00576923089f},
      {21, 0.00118568691f}, {24, 0.000500000024f}, {30, 8.89139701e-05f}, {31, 6.66760752e-05f}}},
    {"rope_scaling beside rope_parameters",
     R"({"max_position_embeddings": 4096, "rope_theta": 5000.0, "rope_scaling": {"factor": 2.0, "type": "linear"},
         "rope_parameters": {"factor": 8.0, "rope_type": "linear", "rope_theta": 7.0}})", 8, 1.0f,
     {{0, 0.5f}, {1, 0.0594603568f}, {2, 0.00707106804f}, {3, 0.00084089645f}}},
    {"empty rope_scaling beside rope_parameters",
     R"({"max_position_embeddings": 4096, "rope_theta": 5000.0, "rope_scaling": {}, "rope_parameters": {"factor": 8.0,
         "rope_type": "linear"}})", 8, 1.0f,
     {{0, 0.125f}, {1, 0.0148650892f}, {2, 0.00176776701f}, {3, 0.000210224112f}}},
};

uint32_t positions_of(const Fields& fields) {
  uint32_t positions = 0;
  REQUIRE(fields.require("max_position_embeddings", &positions).ok());
  return positions;
}

void refused(const std::string& text, Code code, const char* part) {
  CAPTURE(std::string(text));
  const Parsed parsed(text);
  const Status status = read_rope(parsed.fields, 4096).status();
  CAPTURE(std::string(status.message()));
  CHECK(status.code() == code);
  CHECK(std::string(status.message()).find(part) != std::string::npos);
}

}  // namespace

TEST_SUITE("rope") {
  TEST_CASE("gives the frequencies that transformers gives") {
    for (const Expected& expected : kExpected) {
      CAPTURE(std::string(expected.name));
      const Parsed parsed(expected.config);
      const Result<RopeParameters> rope = read_rope(parsed.fields, positions_of(parsed.fields));
      REQUIRE(rope.ok());
      const std::vector<float> frequencies = rope_frequencies(rope.value(), expected.head_dim);
      CHECK(frequencies.size() == expected.head_dim / 2);
      for (const auto& [index, frequency] : expected.frequencies) {
        const uint32_t dimension = index;  // clang 14 captures no structured bindings
        CAPTURE(dimension);
        CHECK(std::fabs(frequencies[dimension] - frequency) <= 4e-7f * frequency);
      }
      CHECK(std::fabs(static_cast<float>(rope.value().attention_factor) - expected.scale) <= 2e-7f * expected.scale);
    }
  }

  TEST_CASE("without any field is the plain kind with theta 10000") {
    for (const char* text :
         {"{}", R"({"rope_scaling": null})", R"({"rope_scaling": {}, "rope_parameters": null})", R"({"rope_parameters": {}})",
          R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 1.0}, "partial_rotary_factor": 0.5})"}) {
      CAPTURE(std::string(text));
      const Parsed parsed(text);
      const Result<RopeParameters> rope = read_rope(parsed.fields, 4096);
      REQUIRE(rope.ok());
      CHECK(rope.value().type == RopeType::plain);
      CHECK(rope.value().theta == 10000);
      CHECK(rope.value().attention_factor == 1);
    }
  }

  TEST_CASE("a theta inside the object wins") {
    const Parsed parsed(R"({"rope_theta": 5.0, "rope_parameters": {"rope_theta": 7}})");
    CHECK(read_rope(parsed.fields, 4096).value().theta == 7);
    const Parsed outside(R"({"rope_theta": 5.0, "rope_parameters": {"rope_type": "default"}})");
    CHECK(read_rope(outside.fields, 4096).value().theta == 5);
  }

  TEST_CASE("names what is not supported") {
    for (const char* type : {"dynamic", "longrope", "proportional", "mrope", "su", "Linear", ""})
      for (const char* key : {"rope_type", "type"})
        refused(std::string(R"({"rope_scaling": {")") + key + R"(": ")" + type + R"(", "factor": 2.0}})", Code::unsupported,
                (std::string("field 'rope_scaling.") + key + "' is '" + type + "'").c_str());
    refused(R"({"rope_parameters": {"rope_type": "yarn2"}})", Code::unsupported, "'rope_parameters.rope_type' is 'yarn2'");
    refused(R"({"partial_rotary_factor": 0.5})", Code::unsupported, "'partial_rotary_factor'");
    refused(R"({"rope_parameters": {"partial_rotary_factor": 0.25}})", Code::unsupported,
            "'rope_parameters.partial_rotary_factor'");
    refused(R"({"rope_parameters": {"full_attention": {"rope_type": "default"}}})", Code::unsupported, "full_attention");
    refused(R"({"rope_parameters": {"sliding_attention": null}})", Code::unsupported, "sliding_attention");
  }

  TEST_CASE("refuses fields that are missing, malformed or out of range") {
    refused(R"({"rope_scaling": "linear"})", Code::format, "'rope_scaling' must be an object");
    refused(R"({"rope_scaling": [1]})", Code::format, "'rope_scaling' must be an object");
    refused(R"({"rope_parameters": 3})", Code::format, "'rope_parameters' must be an object");
    refused(R"({"rope_parameters": {"rope_type": 3}})", Code::format, "'rope_parameters.rope_type' must be a string");
    refused(R"({"rope_parameters": {"rope_type": null}})", Code::format, "'rope_parameters.rope_type' must be a string");
    for (const char* theta : {"0", "-1", "\"1\"", "null", "1e300", "1e-300"})
      refused(std::string(R"({"rope_theta": )") + theta + "}", Code::format, "'rope_theta' must be");
    for (const char* type : {"linear", "llama3", "yarn"})
      refused(std::string(R"({"rope_scaling": {"type": ")") + type + R"(", "original_max_position_embeddings": 64}})", Code::format,
              "'rope_scaling.factor' is missing");
    refused(R"({"rope_scaling": {"type": "linear", "factor": 0}})", Code::format, "factor");
    refused(R"({"rope_scaling": {"type": "linear", "factor": null}})", Code::format, "factor");
    refused(R"({"rope_scaling": {"type": "llama3", "factor": 8, "high_freq_factor": 4}})", Code::format,
            "low_freq_factor' is missing");
    refused(R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 1}})", Code::format,
            "high_freq_factor' is missing");
    refused(R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}})", Code::format,
            "must be above low_freq_factor");
    refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 0}})", Code::format,
            "must be above 0");
    refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 1.5}})", Code::format,
            "must be an integer");
    refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "truncate": 1}})", Code::format, "truncate");
    refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "beta_fast": -1}})", Code::format, "beta_fast");
    refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "beta_slow": "1"}})", Code::format, "beta_slow");
    refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "attention_factor": 0}})", Code::format, "attention_factor");
    refused(R"({"rope_scaling": {"type": "yarn", "factor": 2, "mscale": -1000, "mscale_all_dim": 1}})", Code::format, "mscale");
    refused(R"({"rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2}})", Code::format, "rope_theta");
  }
}
