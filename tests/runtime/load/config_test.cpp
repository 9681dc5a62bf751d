#include "runtime/load/config.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/runtime/load/golden_configs.h"
#include "tests/support/fault.h"
#include "tests/support/temp_folder.h"

using namespace tdl;

namespace {

// config.json as a map of fields to JSON texts, small and sound until a test changes it.
struct Config {
  explicit Config(const char* architecture = "LlamaForCausalLM") {
    set("architectures", std::string("[\"") + architecture + "\"]");
    set("vocab_size", "100").set("hidden_size", "64").set("intermediate_size", "96").set("num_hidden_layers", "3");
    set("num_attention_heads", "4").set("max_position_embeddings", "512");
  }
  Config& set(const std::string& key, const std::string& json) {
    fields[key] = json;
    return *this;
  }
  Config& drop(const std::string& key) {
    fields.erase(key);
    return *this;
  }
  Result<ModelConfig> load() const {
    std::string text = "{";
    for (const auto& [key, json] : fields) text += (text.size() > 1 ? ",\"" : "\"") + key + "\":" + json;
    text += "}";
    Source source;
    REQUIRE(source.add_memory("config.json", text.data(), text.size()).ok());
    if (!generation.empty()) REQUIRE(source.add_memory("generation_config.json", generation.data(), generation.size()).ok());
    return load_config(source);
  }
  std::map<std::string, std::string> fields;
  std::string generation;
};

Result<ModelConfig> load_text(const std::string& text) {
  Source source;
  REQUIRE(source.add_memory("config.json", text.data(), text.size()).ok());
  return load_config(source);
}

ModelConfig loaded(const Config& config) {
  Result<ModelConfig> result = config.load();
  CAPTURE(std::string(result.status().message()));
  REQUIRE(result.ok());
  return std::move(result).value();
}

void refused(const Config& config, Code code, const char* part) {
  const Status status = config.load().status();
  CAPTURE(std::string(status.message()));
  CHECK(status.code() == code);
  CHECK(std::string(status.message()).find(part) != std::string::npos);
}

using Ids = std::vector<uint32_t>;

}  // namespace

TEST_SUITE("config") {
  TEST_CASE("reads the golden models of the dense families") {
    struct Row {
      const char* name;
      const char* architecture;
      uint32_t vocab, hidden, intermediate, layers, heads, kv_heads, head_dim;
      bool tied, qkv_bias, o_bias, mlp_bias, qk_norm;
      float eps;
      uint32_t window;
      DType dtype;
      double second_frequency, scale;  // theta ^ (-2 / head_dim) and what the rope type makes of it
    };
    const double yarn = 0.1 * std::log(4.0) + 1;
    const Row rows[] = {
        {"llama-hd128-bias", "LlamaForCausalLM", 192, 128, 192, 2, 2, 2, 128, false, true, true, true, false, 1e-5f, 0, DType::bf16,
         0.86596432336, 1},
        {"llama-hd80-f32", "LlamaForCausalLM", 192, 128, 192, 2, 2, 1, 80, false, false, false, false, false, 1e-6f, 0, DType::f32,
         0.79432823472, 1},
        {"llama-linear-hd96-f16", "LlamaForCausalLM", 192, 128, 192, 2, 4, 4, 96, false, false, false, false, false, 1e-6f, 0,
         DType::f16, 0.20635106667, 1},
        {"llama-v4", "LlamaForCausalLM", 192, 128, 192, 2, 4, 2, 64, false, false, false, false, false, 1e-6f, 0, DType::bf16,
         0.74989420933, 1},
        {"llama3-scaled", "LlamaForCausalLM", 192, 96, 192, 2, 6, 2, 64, true, false, false, false, false, 1e-6f, 0, DType::bf16,
         0.66360123805, 1},
        {"mistral-window", "MistralForCausalLM", 192, 128, 192, 2, 4, 2, 64, false, false, false, false, false, 1e-6f, 16,
         DType::bf16, 0.74989420933, 1},
        {"qwen2-bias", "Qwen2ForCausalLM", 192, 256, 192, 2, 4, 2, 64, true, true, false, false, false, 1e-6f, 0, DType::bf16,
         0.64938163158, 1},
        {"qwen3", "Qwen3ForCausalLM", 192, 128, 192, 2, 4, 2, 128, false, false, false, false, true, 1e-6f, 0, DType::bf16,
         0.80584218776, 1},
        {"qwen3-hd256", "Qwen3ForCausalLM", 192, 128, 192, 2, 2, 1, 256, false, false, false, false, true, 1e-6f, 0, DType::bf16,
         0.89768713299, 1},
        {"qwen3-yarn-sharded", "Qwen3ForCausalLM", 192, 128, 192, 2, 8, 1, 64, false, false, false, false, true, 1e-6f, 0,
         DType::bf16, 0.48703622368, yarn},
        {"abacus", "Qwen3ForCausalLM", 384, 192, 512, 4, 4, 2, 64, true, false, false, false, true, 1e-6f, 0, DType::bf16,
         0.74989420933, 1},
    };
    size_t found = 0;
    for (const auto& golden : test::kGoldenConfigs)
      for (const Row& row : rows) {
        if (std::string(golden.name) != row.name) continue;
        CAPTURE(std::string(row.name));
        ++found;
        Result<ModelConfig> result = load_text(golden.json);
        REQUIRE(result.ok());
        const ModelConfig& c = result.value();
        CHECK(c.architecture == row.architecture);
        CHECK(c.arch == find_arch(row.architecture));
        CHECK(c.vocab_size == row.vocab);
        CHECK(c.hidden_size == row.hidden);
        CHECK(c.intermediate_size == row.intermediate);
        CHECK(c.num_layers == row.layers);
        CHECK(c.num_heads == row.heads);
        CHECK(c.num_kv_heads == row.kv_heads);
        CHECK(c.head_dim == row.head_dim);
        CHECK(c.max_positions == (std::string(row.name) == "abacus" ? 512 : 4096));
        CHECK(c.tied_head == row.tied);
        CHECK(c.qkv_bias == row.qkv_bias);
        CHECK(c.o_bias == row.o_bias);
        CHECK(c.mlp_bias == row.mlp_bias);
        CHECK(c.qk_norm == row.qk_norm);
        CHECK(c.rms_norm_eps == row.eps);
        CHECK(c.window == Ids(row.layers, row.window));
        CHECK(c.random_dtype == row.dtype);
        CHECK(c.inv_freq.size() == row.head_dim / 2);
        CHECK(std::fabs(c.inv_freq[1] - row.second_frequency) < 1e-6 * row.second_frequency);
        CHECK(std::fabs(c.rope_scale - row.scale) < 1e-6);
        CHECK(c.eos == Ids{std::string(row.name) == "abacus" ? 0u : 2u});
      }
    CHECK(found == std::size(rows));
  }

  TEST_CASE("names the architecture of the golden models that are not dense") {
    const std::map<std::string, std::string> others = {
        {"mixtral", "MixtralForCausalLM"},
        {"qwen2-moe-shared", "Qwen2MoeForCausalLM"},
        {"qwen2.5-vl-text", "Qwen2_5_VLForConditionalGeneration"},
        {"qwen3-moe", "Qwen3MoeForCausalLM"},
        {"qwen3-moe-mixed", "Qwen3MoeForCausalLM"},
        {"qwen3-vl-moe-text", "Qwen3VLMoeForConditionalGeneration"},
        {"qwen3-vl-text", "Qwen3VLForConditionalGeneration"},
    };
    size_t found = 0;
    for (const auto& golden : test::kGoldenConfigs) {
      const auto other = others.find(golden.name);
      if (other == others.end()) continue;
      ++found;
      const Status status = load_text(golden.json).status();
      CHECK(status.code() == Code::unsupported);
      CHECK(std::string(status.message()).find("'" + other->second + "'") != std::string::npos);
    }
    CHECK(found == others.size());
  }

  TEST_CASE("a config with the sizes alone has transformers' defaults") {
    const ModelConfig c = loaded(Config());
    CHECK(c.num_kv_heads == 4);
    CHECK(c.head_dim == 16);
    CHECK(c.rms_norm_eps == 1e-6f);
    CHECK_FALSE(c.tied_head);
    CHECK_FALSE(c.qkv_bias);
    CHECK_FALSE(c.o_bias);
    CHECK_FALSE(c.mlp_bias);
    CHECK(c.random_dtype == DType::bf16);
    CHECK(c.inv_freq[1] == doctest::Approx(0.31622776));
    CHECK(c.rope_scale == 1);
    CHECK(c.eos.empty());
  }

  TEST_CASE("what a family's config leaves out is what the family means by it") {
    CHECK(loaded(Config("Qwen3ForCausalLM").set("num_attention_heads", "32")).head_dim == 128);
    CHECK(loaded(Config("Qwen3ForCausalLM").set("num_attention_heads", "64")).num_kv_heads == 32);
    CHECK(loaded(Config("Qwen2ForCausalLM").set("num_attention_heads", "32")).num_kv_heads == 32);
    CHECK(loaded(Config("MistralForCausalLM").set("num_attention_heads", "16")).num_kv_heads == 8);
    CHECK(loaded(Config("MistralForCausalLM").set("num_key_value_heads", "null")).num_kv_heads == 4);
    refused(Config("MistralForCausalLM"), Code::format, "num_key_value_heads");
    CHECK(loaded(Config("MistralForCausalLM").set("num_key_value_heads", "4")).window == Ids(3, 4096));
  }

  TEST_CASE("an explicit head_dim wins, null is none") {
    CHECK(loaded(Config().set("head_dim", "40")).head_dim == 40);
    CHECK(loaded(Config().set("head_dim", "null")).head_dim == 16);
    CHECK(loaded(Config().set("num_attention_heads", "5").set("head_dim", "16")).num_heads == 5);
    refused(Config().set("num_attention_heads", "5"), Code::format, "'head_dim'");
  }

  TEST_CASE("biases and norms are those of the family") {
    const auto flags = [](const char* architecture) {
      const ModelConfig c =
          loaded(Config(architecture).set("attention_bias", "true").set("mlp_bias", "true").set("num_key_value_heads", "2"));
      return std::string(c.qkv_bias ? "q" : "-") + (c.o_bias ? "o" : "-") + (c.mlp_bias ? "m" : "-") + (c.qk_norm ? "n" : "-");
    };
    CHECK(flags("LlamaForCausalLM") == "qom-");
    CHECK(flags("MistralForCausalLM") == "----");
    CHECK(flags("Qwen2ForCausalLM") == "q---");
    CHECK(flags("Qwen3ForCausalLM") == "qo-n");
  }

  TEST_CASE("Mistral's window holds for every layer, null is none, and Llama has none") {
    const auto window = [](const char* architecture, const char* json) {
      return loaded(Config(architecture).set("num_key_value_heads", "2").set("sliding_window", json)).window;
    };
    CHECK(window("MistralForCausalLM", "16") == Ids{16, 16, 16});
    CHECK(window("MistralForCausalLM", "null") == Ids{0, 0, 0});
    CHECK(window("LlamaForCausalLM", "16") == Ids{0, 0, 0});
    // transformers' AutoModel makes a Ministral of a Mistral with layer_types.
    Config typed("MistralForCausalLM");
    typed.set("num_key_value_heads", "2").set("sliding_window", "16");
    typed.set("layer_types", R"(["full_attention", "sliding_attention", "full_attention"])");
    CHECK(loaded(typed).window == Ids{0, 16, 0});
    refused(Config("MistralForCausalLM").set("num_key_value_heads", "2").set("sliding_window", "0"), Code::format,
            "sliding_window");
    refused(Config("MistralForCausalLM").set("num_key_value_heads", "2").set("sliding_window", "-1"), Code::format,
            "sliding_window");
  }

  TEST_CASE("Qwen's windows follow use_sliding_window, max_window_layers and layer_types") {
    for (const char* architecture : {"Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
      Config c(architecture);
      c.set("num_key_value_heads", "2").set("sliding_window", "16").set("max_window_layers", "1");
      CHECK(loaded(c).window == Ids{0, 0, 0});
      c.set("use_sliding_window", "true");
      CHECK(loaded(c).window == Ids{0, 16, 16});
      CHECK(loaded(Config(c).set("max_window_layers", "0")).window == Ids{16, 16, 16});
      CHECK(loaded(Config(c).set("max_window_layers", "3")).window == Ids{0, 0, 0});
      CHECK(loaded(Config(c).drop("max_window_layers")).window == Ids{0, 0, 0});
      CHECK(loaded(Config(c).set("sliding_window", "null")).window == Ids{0, 0, 0});
      CHECK(loaded(Config(c).drop("sliding_window")).window == Ids{0, 4096, 4096});
      CHECK(loaded(Config(c).set("layer_types", "null")).window == Ids{0, 16, 16});
      c.set("layer_types", R"(["sliding_attention","full_attention","sliding_attention"])");
      CHECK(loaded(c).window == Ids{16, 0, 16});
      refused(Config(c).set("use_sliding_window", "false"), Code::format, "layer_types");
      refused(Config(c).set("sliding_window", "null"), Code::format, "layer_types");
      refused(Config(c).set("sliding_window", "0"), Code::format, "sliding_window");
      refused(Config(c).set("num_hidden_layers", "2"), Code::format, "layer_types");
      refused(Config(c).set("layer_types", R"(["full_attention",1,"full_attention"])"), Code::format, "layer_types");
      refused(Config(c).set("layer_types", R"(["full_attention","chunked_attention","full_attention"])"), Code::unsupported,
              "'chunked_attention'");
      // An unused window may be anything: transformers 5 writes 0 for it.
      CHECK(loaded(Config(architecture).set("num_key_value_heads", "2").set("sliding_window", "0")).window == Ids{0, 0, 0});
    }
  }

  TEST_CASE("eos comes from generation_config.json, else from config.json") {
    Config c;
    c.set("eos_token_id", "2");
    CHECK(loaded(c).eos == Ids{2});
    c.generation = R"({"eos_token_id": [5, 3, 5]})";
    CHECK(loaded(c).eos == Ids{5, 3});
    c.generation = R"({"eos_token_id": 7})";
    CHECK(loaded(c).eos == Ids{7});
    c.generation = R"({"eos_token_id": null, "top_k": 20})";
    CHECK(loaded(c).eos == Ids{2});
    c.generation = "{ }";
    CHECK(loaded(c).eos == Ids{2});
    c.set("eos_token_id", "[1, 99]");
    CHECK(loaded(c).eos == Ids{1, 99});
    CHECK(loaded(Config().set("eos_token_id", "null")).eos.empty());
    CHECK(loaded(Config().set("eos_token_id", "[]")).eos.empty());
    CHECK(loaded(Config().set("eos_token_id", "[0,1,2,3,4,5,6,7]")).eos.size() == 8);
  }

  TEST_CASE("refuses eos tokens outside the vocabulary, malformed or too many") {
    for (const char* json : {"100", "-1", "1.0", "\"2\"", "[1, 100]", "[null]", "{}", "true", "[[1]]", "4294967297"})
      refused(Config().set("eos_token_id", json), Code::format, "'config.json': field 'eos_token_id'");
    refused(Config().set("eos_token_id", "[0,1,2,3,4,5,6,7,8]"), Code::unsupported, "eos_token_id");
    Config c;
    c.generation = R"({"eos_token_id": 100})";
    refused(c, Code::format, "'generation_config.json': field 'eos_token_id'");
    c.generation = "{\"eos_token_id\"";
    refused(c, Code::format, "'generation_config.json'");
    c.generation = "[2]";
    refused(c, Code::format, "'generation_config.json'");
  }

  TEST_CASE("the type of random weights is the config's own") {
    CHECK(loaded(Config().set("dtype", "\"float16\"")).random_dtype == DType::f16);
    CHECK(loaded(Config().set("torch_dtype", "\"float32\"")).random_dtype == DType::f32);
    CHECK(loaded(Config().set("torch_dtype", "\"float32\"").set("dtype", "\"float16\"")).random_dtype == DType::f16);
    CHECK(loaded(Config().set("torch_dtype", "\"float32\"").set("dtype", "null")).random_dtype == DType::f32);
    CHECK(loaded(Config().set("dtype", "\"float8_e4m3fn\"")).random_dtype == DType::bf16);
    refused(Config().set("dtype", "16"), Code::format, "'dtype'");
  }

  TEST_CASE("names the required field that is missing, and refuses it in another type") {
    for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                            "max_position_embeddings"}) {
      refused(Config().drop(key), Code::format, (std::string("field '") + key + "' is missing").c_str());
      for (const char* json : {"null", "-4", "4.0", "\"4\"", "[4]", "true", "4294967296", "1e999"})
        refused(Config().set(key, json), Code::format,
                std::string(json) == "1e999" ? "overflow" : (std::string("field '") + key + "'").c_str());
      refused(Config().set(key, "0"), Code::format, (std::string("field '") + key + "' must be above 0").c_str());
      refused(Config().set(key, "4294967295"), Code::unsupported, key);
    }
  }

  TEST_CASE("refuses sizes that do not go together or are not supported") {
    refused(Config().set("num_key_value_heads", "3"), Code::format, "num_key_value_heads");
    refused(Config().set("num_key_value_heads", "0"), Code::format, "num_key_value_heads");
    refused(Config().set("num_key_value_heads", "8"), Code::format, "num_key_value_heads");
    refused(Config().set("head_dim", "0"), Code::format, "head_dim");
    refused(Config().set("head_dim", "15"), Code::format, "head_dim");
    refused(Config().set("head_dim", "514"), Code::unsupported, "head_dim");
    CHECK(loaded(Config().set("head_dim", "512")).head_dim == 512);
    CHECK(loaded(Config().set("num_hidden_layers", "1024")).window.size() == 1024);
    refused(Config().set("num_hidden_layers", "1025"), Code::unsupported, "num_hidden_layers");
    for (const char* eps : {"-1e-6", "1", "\"1e-6\"", "1e400"}) refused(Config().set("rms_norm_eps", eps), Code::format, "");
  }

  TEST_CASE("names what is not supported") {
    refused(Config("GPT2LMHeadModel"), Code::unsupported, "'GPT2LMHeadModel'");
    refused(Config().set("model_type", "\"mistral\""), Code::unsupported, "'mistral'");
    CHECK(loaded(Config().set("model_type", "\"llama\"")).num_layers == 3);
    for (const char* activation : {"gelu", "relu", "SiLU", "silu "})
      refused(Config().set("hidden_act", std::string("\"") + activation + "\""), Code::unsupported,
              (std::string("'") + activation + "'").c_str());
    refused(Config().set("quantization_config", R"({"quant_method": "gptq", "bits": 4})"), Code::unsupported,
            "'quantization_config' is not supported ('gptq')");
    refused(Config().set("quantization_config", "{}"), Code::unsupported, "quantization_config");
    CHECK(loaded(Config().set("quantization_config", "null")).num_layers == 3);
    refused(Config().set("per_layer_config", R"({"0": {"hidden_size": 3}})"), Code::unsupported, "per_layer_config");
    refused(Config().set("transformers_weights", "\"other.safetensors\""), Code::unsupported, "transformers_weights");
    refused(Config().set("is_causal", "false"), Code::unsupported, "is_causal");
    refused(Config().set("rope_scaling", R"({"type": "dynamic", "factor": 2.0})"), Code::unsupported, "'dynamic'");
    refused(Config().set("partial_rotary_factor", "0.5"), Code::unsupported, "partial_rotary_factor");
  }

  TEST_CASE("refuses malformed files") {
    for (const char* text : {"", "[]", "null", "{", "\"x\"", "{\"a\": NaN}", R"({"vocab_size": 1, "vocab_size": 2})"})
      CHECK(load_text(text).status().code() == Code::format);
    for (const char* json : {"null", "[]", "\"LlamaForCausalLM\"", "[null]", "{}"})
      refused(Config().set("architectures", json), Code::format, "architectures");
    refused(Config().drop("architectures"), Code::format, "architectures");
    refused(Config().set("hidden_act", "1"), Code::format, "hidden_act");
    refused(Config().set("tie_word_embeddings", "1"), Code::format, "tie_word_embeddings");
    refused(Config().set("attention_bias", "\"true\""), Code::format, "attention_bias");
    CHECK(load_text("{\"a\":\"" + std::string(17u << 20, 'x') + "\"}").status().code() == Code::format);
  }

  TEST_CASE("keys that change nothing are ignored, whatever they hold") {
    Config c;
    c.set("attention_dropout", "\"x\"")
        .set("use_cache", "{}")
        .set("id2label", "[[[]]]")
        .set("pretraining_tp", "-7")
        .set("auto_map", "{}");
    CHECK(loaded(c).num_layers == 3);
  }

  TEST_CASE("without config.json nothing is found; failures of the system are io") {
    CHECK(load_config(Source()).status().code() == Code::not_found);
    const test::TempFolder folder;
    folder.write("config.json", test::kGoldenConfigs[0].json);
    folder.write("generation_config.json", "{}");
    Source source;
    REQUIRE(source.add_directory(folder.path()).ok());
    for (const os::Site site : {os::Site::open_file, os::Site::stat_file, os::Site::read_file})
      for (int call = 0; call < 2; ++call) {
        const test::Fault fault(site, call);
        CHECK(load_config(source).status().code() == Code::io);
      }
    CHECK(load_config(source).ok());
  }
}
