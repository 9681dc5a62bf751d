#include "runtime/load/config.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/load/fields.h"
#include "runtime/load/json.h"
#include "runtime/load/rope.h"
#include "runtime/load/utf8.h"

namespace tdl {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kGenerationConfig = "generation_config.json";
constexpr uint64_t kMostText = 16u << 20;
constexpr uint32_t kMostEos = 8;           // tdl_engine_info's
constexpr uint32_t kDefaultWindow = 4096;  // of every family that has one

// Far above any model, and low enough that the products of a model's sizes, in bytes, fit 64 bits, and a matrix's rows 32.
struct SizeField {
  const char* key;
  uint32_t ModelConfig::* value;
  uint32_t most;
};
constexpr SizeField kSizes[] = {
    {"vocab_size", &ModelConfig::vocab_size, 1u << 24},
    {"hidden_size", &ModelConfig::hidden_size, 1u << 20},
    {"intermediate_size", &ModelConfig::intermediate_size, 1u << 22},
    {"num_hidden_layers", &ModelConfig::num_layers, 1024},
    {"num_attention_heads", &ModelConfig::num_heads, 4096},
    {"max_position_embeddings", &ModelConfig::max_positions, 1u << 30},
};
constexpr uint32_t kMostHeadDim = 512;

// Features that change what a model computes or where its weights are, and that no family here has.
constexpr const char* kRefused[] = {"quantization_config", "compression_config", "per_layer_config", "transformers_weights"};

Status read_architecture(const Fields& fields, ModelConfig* config) {
  const JsonValue names = fields.find("architectures");
  if (!names.is(JsonKind::array) || !names[0].is(JsonKind::string))
    return fields.wrong("architectures", "must be a list of strings");
  config->architecture = names[0].text();
  config->arch = find_arch(config->architecture);
  if (!config->arch)
    return fields.wrong("architectures", ("is " + quoted(config->architecture) + ", which is not supported").c_str(),
                        Code::unsupported);
  std::string model_type = config->arch->model_type;
  TDL_TRY(fields.optional("model_type", &model_type));
  if (model_type != config->arch->model_type)
    return fields.wrong("model_type", ("is " + quoted(model_type) + ", which does not go with " + config->architecture).c_str(),
                        Code::unsupported);
  return {};
}

Status refuse_features(const Fields& fields) {
  for (const char* key : kRefused)
    if (fields.has(key)) {
      const JsonValue method = fields.find(key).find("quant_method");
      const std::string named = method.is(JsonKind::string) ? " (" + quoted(method.text()) + ")" : "";
      return fields.wrong(key, ("is not supported" + named).c_str(), Code::unsupported);
    }
  bool causal = true;
  TDL_TRY(fields.optional("is_causal", &causal));
  if (!causal) return fields.wrong("is_causal", "is false, which is not supported", Code::unsupported);
  std::string activation = "silu";
  TDL_TRY(fields.optional("hidden_act", &activation));
  if (activation != "silu")
    return fields.wrong("hidden_act", ("is " + quoted(activation) + ", which is not supported").c_str(), Code::unsupported);
  return {};
}

Status check_size(const Fields& fields, const char* key, uint32_t value, uint32_t most) {
  if (value == 0) return fields.wrong(key, "must be above 0");
  if (value > most)
    return fields.wrong(key, ("is above " + std::to_string(most) + ", the most that is supported").c_str(), Code::unsupported);
  return {};
}

Status read_sizes(const Fields& fields, ModelConfig* config) {
  for (const SizeField& size : kSizes) {
    TDL_TRY(fields.require(size.key, &(config->*size.value)));
    TDL_TRY(check_size(fields, size.key, config->*size.value, size.most));
  }
  // Absent is the family's default; null is the number of heads, whatever the family.
  const bool absent = fields.find("num_key_value_heads").is(JsonKind::absent);
  config->num_kv_heads = absent && config->arch->default_kv_heads ? config->arch->default_kv_heads : config->num_heads;
  TDL_TRY(fields.optional("num_key_value_heads", &config->num_kv_heads));
  if (config->num_kv_heads == 0 || config->num_heads % config->num_kv_heads != 0)
    return fields.wrong("num_key_value_heads", "must divide num_attention_heads");

  const bool derived = !fields.has("head_dim") && config->arch->default_head_dim == 0;
  if (derived && config->hidden_size % config->num_heads != 0)
    return fields.wrong("head_dim", "is missing, and num_attention_heads does not divide hidden_size");
  config->head_dim = derived ? config->hidden_size / config->num_heads : config->arch->default_head_dim;
  TDL_TRY(fields.optional("head_dim", &config->head_dim));
  TDL_TRY(check_size(fields, "head_dim", config->head_dim, kMostHeadDim));
  if (config->head_dim % 2 != 0) return fields.wrong("head_dim", "must be even");
  return {};
}

Status read_presence(const Fields& fields, Presence presence, const char* key, bool* out) {
  *out = presence == Presence::always;
  return presence == Presence::by_config ? fields.optional(key, out) : Status();
}

Status read_parts(const Fields& fields, ModelConfig* config) {
  const ArchRow& arch = *config->arch;
  TDL_TRY(read_presence(fields, arch.qkv_bias, arch.attention_bias_key, &config->qkv_bias));
  TDL_TRY(read_presence(fields, arch.o_bias, arch.attention_bias_key, &config->o_bias));
  TDL_TRY(read_presence(fields, arch.mlp_bias, arch.mlp_bias_key, &config->mlp_bias));
  config->qk_norm = arch.qk_norm == Presence::always;
  TDL_TRY(fields.optional("tie_word_embeddings", &config->tied_head));
  double eps = 1e-6;
  TDL_TRY(fields.optional("rms_norm_eps", &eps));
  if (!(eps >= 0 && eps < 1)) return fields.wrong("rms_norm_eps", "must be from 0 to 1");
  config->rms_norm_eps = static_cast<float>(eps);
  return {};
}

// "sliding_window" where it is in force: absent means the families' default, null means 0, none.
Status read_window_size(const Fields& fields, uint32_t* out) {
  *out = fields.find("sliding_window").is(JsonKind::null) ? 0 : kDefaultWindow;
  TDL_TRY(fields.optional("sliding_window", out));
  if (*out == 0 && fields.has("sliding_window")) return fields.wrong("sliding_window", "must be above 0, or null");
  return {};
}

Status read_windows(const Fields& fields, ModelConfig* config) {
  config->window.assign(config->num_layers, 0);
  uint32_t window = 0;
  if (config->arch->sliding_window == Presence::never) return {};
  const bool always = config->arch->sliding_window == Presence::always;
  bool used = always;
  if (!always) TDL_TRY(fields.optional("use_sliding_window", &used));
  if (used) TDL_TRY(read_window_size(fields, &window));
  if (!fields.has("layer_types")) {
    uint32_t first = always ? 0 : 28;
    if (!always) TDL_TRY(fields.optional("max_window_layers", &first));
    for (uint32_t layer = first; layer < config->num_layers; ++layer) config->window[layer] = window;
    return {};
  }
  const JsonValue types = fields.find("layer_types");
  if (!types.is(JsonKind::array) || types.size() != config->num_layers)
    return fields.wrong("layer_types", "must be a list with one entry for each layer");
  for (uint32_t layer = 0; layer < config->num_layers; ++layer) {
    if (!types[layer].is(JsonKind::string)) return fields.wrong("layer_types", "must be a list of strings");
    if (types[layer].text() == "full_attention") continue;
    if (types[layer].text() != "sliding_attention")
      return fields.wrong("layer_types", ("has " + quoted(types[layer].text()) + ", which is not supported").c_str(),
                          Code::unsupported);
    if (window == 0) return fields.wrong("layer_types", "has 'sliding_attention', but no sliding window is in use");
    config->window[layer] = window;
  }
  return {};
}

Status read_eos(const Fields& fields, uint32_t vocab_size, std::vector<uint32_t>* out) {
  const char* key = "eos_token_id";
  const JsonValue ids = fields.find(key);
  const bool list = ids.is(JsonKind::array);
  for (uint32_t i = 0; i < (list ? ids.size() : 1); ++i) {
    const JsonValue id = list ? ids[i] : ids;
    if (!id.is(JsonKind::natural) || id.natural() >= vocab_size)
      return fields.wrong(key, "must be one or more tokens of the vocabulary");
    const auto token = static_cast<uint32_t>(id.natural());
    if (std::find(out->begin(), out->end(), token) != out->end()) continue;
    if (out->size() == kMostEos) return fields.wrong(key, "has more than 8 tokens, which is not supported", Code::unsupported);
    out->push_back(token);
  }
  return {};
}

// generation_config.json decides where it is there and says anything.
Status read_all_eos(const Source& source, const Fields& fields, ModelConfig* config) {
  const Result<std::string> text = source.read_text(kGenerationConfig, kMostText);
  if (!text.ok() && text.status().code() != Code::not_found) return text.status();
  if (text.ok()) {
    TDL_ASSIGN(const JsonDocument document, JsonDocument::parse(text.value(), kGenerationConfig));
    const Fields generation(kGenerationConfig, document.root());
    if (!document.root().is(JsonKind::object)) return fail(Code::format, "'%s': not an object", kGenerationConfig);
    if (generation.has("eos_token_id")) return read_eos(generation, config->vocab_size, &config->eos);
  }
  return fields.has("eos_token_id") ? read_eos(fields, config->vocab_size, &config->eos) : Status();
}

Status read_dtype(const Fields& fields, DType* out) {
  std::string name = "bfloat16";
  TDL_TRY(fields.optional(fields.has("dtype") ? "dtype" : "torch_dtype", &name));
  *out = name == "float32" ? DType::f32 : name == "float16" ? DType::f16 : DType::bf16;
  return {};
}

}  // namespace

Result<ModelConfig> load_config(const Source& source) {
  TDL_ASSIGN(const std::string text, source.read_text(kConfig, kMostText));
  TDL_ASSIGN(const JsonDocument document, JsonDocument::parse(text, kConfig));
  if (!document.root().is(JsonKind::object)) return fail(Code::format, "'%s': not an object", kConfig);
  const Fields fields(kConfig, document.root());
  ModelConfig config;
  TDL_TRY(read_architecture(fields, &config));
  TDL_TRY(refuse_features(fields));
  TDL_TRY(read_sizes(fields, &config));
  TDL_TRY(read_parts(fields, &config));
  TDL_TRY(read_windows(fields, &config));
  TDL_ASSIGN(const RopeParameters rope, read_rope(fields, config.max_positions));
  config.inv_freq = rope_frequencies(rope, config.head_dim);
  config.rope_scale = static_cast<float>(rope.attention_factor);
  TDL_TRY(read_dtype(fields, &config.random_dtype));
  TDL_TRY(read_all_eos(source, fields, &config));
  return config;
}

}  // namespace tdl
