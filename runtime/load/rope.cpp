#include "runtime/load/rope.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/load/utf8.h"

namespace tdl {
namespace {

constexpr double kTwoPi = 6.283185307179586;

struct NamedRopeType {
  const char* name;
  RopeType type;
};
constexpr NamedRopeType kRopeTypes[] = {
    {"default", RopeType::plain}, {"linear", RopeType::linear}, {"llama3", RopeType::llama3}, {"yarn", RopeType::yarn}};

// Wide enough for every model, narrow enough that no product or quotient below leaves the range of a float.
bool in_range(double value) { return value >= 1e-15 && value <= 1e15; }

Status read_positive(const Fields& fields, const char* key, double* out) {
  TDL_TRY(fields.require(key, out));
  return in_range(*out) ? Status() : fields.wrong(key, "must be above 0, and from 1e-15 to 1e15");
}

// "rope_type" is the newer name and wins.
Status read_type(const Fields& rope, RopeType* out) {
  const char* key = rope.find("rope_type").is(JsonKind::absent) ? "type" : "rope_type";
  std::string name = "default";
  if (!rope.find(key).is(JsonKind::absent)) TDL_TRY(rope.require(key, &name));
  for (const NamedRopeType& known : kRopeTypes) {
    if (name != known.name) continue;
    *out = known.type;
    return {};
  }
  return rope.wrong(key, ("is " + quoted(name) + ", which is not supported").c_str(), Code::unsupported);
}

Status read_partial(const Fields& fields) {
  double share = 1;
  TDL_TRY(fields.optional("partial_rotary_factor", &share));
  return share == 1 ? Status()
                    : fields.wrong("partial_rotary_factor", "is not 1: partial rotation is not supported", Code::unsupported);
}

Status read_llama3(const Fields& rope, RopeParameters* out) {
  TDL_TRY(read_positive(rope, "factor", &out->factor));
  TDL_TRY(read_positive(rope, "low_freq_factor", &out->low_freq_factor));
  TDL_TRY(read_positive(rope, "high_freq_factor", &out->high_freq_factor));
  if (out->high_freq_factor <= out->low_freq_factor) return rope.wrong("high_freq_factor", "must be above low_freq_factor");
  return {};
}

// How much yarn raises the attention's temperature for a context `scale` times as long (the paper's 0.1 ln s + 1).
double yarn_scale(double scale, double weight) { return scale <= 1 ? 1.0 : 0.1 * weight * std::log(scale) + 1.0; }

Status read_yarn(const Fields& rope, uint32_t max_positions, RopeParameters* out) {
  if (out->theta <= 1) return rope.wrong("rope_theta", "must be above 1 for yarn");
  // DeepSeek's configs give null: the ratio of the context's lengths then.
  if (rope.find("factor").is(JsonKind::null)) out->factor = static_cast<double>(max_positions) / out->original_positions;
  else TDL_TRY(read_positive(rope, "factor", &out->factor));
  double mscale = 0, mscale_all_dim = 0;
  TDL_TRY(rope.optional("mscale", &mscale));
  TDL_TRY(rope.optional("mscale_all_dim", &mscale_all_dim));
  if (rope.has("attention_factor")) TDL_TRY(read_positive(rope, "attention_factor", &out->attention_factor));
  else if (mscale != 0 && mscale_all_dim != 0)
    out->attention_factor = yarn_scale(out->factor, mscale) / yarn_scale(out->factor, mscale_all_dim);
  else out->attention_factor = yarn_scale(out->factor, 1);
  if (!in_range(out->attention_factor)) return rope.wrong("mscale", "gives an attention factor out of range");
  if (rope.has("beta_fast")) TDL_TRY(read_positive(rope, "beta_fast", &out->beta_fast));
  if (rope.has("beta_slow")) TDL_TRY(read_positive(rope, "beta_slow", &out->beta_slow));
  if (!rope.find("truncate").is(JsonKind::absent)) TDL_TRY(rope.require("truncate", &out->truncate));
  return {};
}

// The (fractional) dimension whose wave turns `turns` times within the original context.
double yarn_dimension(const RopeParameters& rope, double turns, double head_dim) {
  return head_dim * std::log(rope.original_positions / (turns * kTwoPi)) / (2 * std::log(rope.theta));
}

// llama3: waves longer than the original context / low_freq_factor are stretched, those shorter than / high_freq_factor are kept,
// and those between are blended.
double llama3_frequency(const RopeParameters& rope, double frequency) {
  const double turns = rope.original_positions * frequency / kTwoPi;  // within the original context
  if (turns < rope.low_freq_factor) return frequency / rope.factor;
  if (turns > rope.high_freq_factor) return frequency;
  const double keep = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - keep) * frequency / rope.factor + keep * frequency;
}

}  // namespace

Result<RopeParameters> read_rope(const Fields& config, uint32_t max_positions) {
  const char* key = "rope_scaling";
  if (config.has(key) && !config.find(key).is(JsonKind::object)) return config.wrong(key, "must be an object or null");
  if (config.find(key).size() == 0) key = "rope_parameters";
  if (config.has(key) && !config.find(key).is(JsonKind::object)) return config.wrong(key, "must be an object or null");
  const Fields rope(config.file(), config.find(key), key);

  for (const char* layer_type : {"full_attention", "sliding_attention"})
    if (!rope.find(layer_type).is(JsonKind::absent))
      return rope.wrong(layer_type, "differs by layer, which is not supported", Code::unsupported);
  RopeParameters out;
  TDL_TRY(read_type(rope, &out.type));
  TDL_TRY(read_partial(rope.has("partial_rotary_factor") ? rope : config));
  const Fields& theta = rope.find("rope_theta").is(JsonKind::absent) ? config : rope;
  if (!theta.find("rope_theta").is(JsonKind::absent)) TDL_TRY(read_positive(theta, "rope_theta", &out.theta));
  if (out.type == RopeType::plain) return out;

  if (out.type == RopeType::linear) {
    TDL_TRY(read_positive(rope, "factor", &out.factor));
    return out;
  }
  // Outside the object it wins (Phi-3's place for it, which transformers reads for every family).
  const char* original = "original_max_position_embeddings";
  out.original_positions = max_positions;
  const Fields& place = config.has(original) ? config : rope;
  TDL_TRY(place.optional(original, &out.original_positions));
  if (out.original_positions == 0) return place.wrong(original, "must be above 0");
  TDL_TRY(out.type == RopeType::llama3 ? read_llama3(rope, &out) : read_yarn(rope, max_positions, &out));
  return out;
}

std::vector<float> rope_frequencies(const RopeParameters& rope, uint32_t head_dim) {
  std::vector<float> frequencies(head_dim / 2);
  double low = 0, high = 0;  // yarn: dimensions below are kept, those above are stretched, with a ramp between
  if (rope.type == RopeType::yarn) {
    low = yarn_dimension(rope, rope.beta_fast, head_dim);
    high = yarn_dimension(rope, rope.beta_slow, head_dim);
    if (rope.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, head_dim - 1.0);
    if (low == high) high += 0.001;
  }
  for (uint32_t i = 0; i < frequencies.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    const float power =
        static_cast<float>(std::pow(static_cast<double>(static_cast<float>(rope.theta)), static_cast<double>(exponent)));
    double frequency = 1.0f / power;
    if (rope.type == RopeType::linear) frequency /= rope.factor;
    if (rope.type == RopeType::llama3) frequency = llama3_frequency(rope, frequency);
    if (rope.type == RopeType::yarn) {
      const double stretch = std::clamp((i - low) / (high - low), 0.0, 1.0);
      frequency = frequency / rope.factor * stretch + frequency * (1 - stretch);
    }
    frequencies[i] = static_cast<float>(frequency);
  }
  return frequencies;
}

}  // namespace tdl
