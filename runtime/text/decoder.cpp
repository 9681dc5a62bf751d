#include "runtime/text/decoder.h"

#include <utility>

#include "runtime/text/byte_level.h"
#include "runtime/text/metaspace.h"
#include "runtime/text/replace.h"
#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

constexpr const char* kWhere = "tokenizer.json: decoder";

Status unsupported(std::string_view type, const char* where) {
  const Shown name = shown(type);
  return fail(Code::unsupported, "%s type \"%.*s\"%s is not supported", kWhere, name.length, name.data, where);
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The byte that a token <0x..> stands for; -1 for any other token.
int byte_of_token(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>') return -1;
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

}  // namespace

Result<Decoder> Decoder::read(Json json, bool byte_level) {
  if (!json) return fail(Code::unsupported, "%s: a file without one is not supported", kWhere);
  Decoder decoder;
  decoder.byte_level_ = byte_level;
  std::string_view type;
  TDL_TRY(need_string(json, kWhere, "type", &type));
  Stage stage = Stage::tokens;
  if (type != "Sequence") {
    TDL_TRY(decoder.read_step(json, &stage));
    return decoder;
  }
  Json list;
  TDL_TRY(need_array(json, kWhere, "decoders", &list));
  if (list.size() == 0) return fail(Code::unsupported, "%s: an empty Sequence is not supported", kWhere);
  for (uint32_t i = 0; i < list.size(); ++i) TDL_TRY(decoder.read_step(list[i], &stage));
  return decoder;
}

Status Decoder::read_step(Json json, Stage* stage) {
  std::string_view type;
  TDL_TRY(need_string(json, kWhere, "type", &type));
  const Stage before = *stage;
  if (byte_level_) {
    if (type != (before == Stage::tokens ? "ByteLevel" : "Fuse"))
      return unsupported(type, before == Stage::tokens ? " for a ByteLevel pre_tokenizer" : " behind ByteLevel");
    *stage = Stage::fused;
    return {};
  }
  if (type == "ByteLevel") return unsupported(type, " without a ByteLevel pre_tokenizer");
  constexpr const char* kPlace = " at its place in the list";
  if (type == "ByteFallback") {
    if (before > Stage::bytes) return unsupported(type, kPlace);
    *stage = Stage::bytes;
    byte_fallback_ = true;
    return {};
  }
  if (type == "Fuse") {
    if (before == Stage::stripped) return unsupported(type, kPlace);
    *stage = Stage::fused;
    return {};
  }
  if (type == "Strip") {
    if (before != Stage::fused) return unsupported(type, kPlace);  // before Fuse it would strip each token
    *stage = Stage::stripped;
    return read_strip(json);
  }
  if (type != "Replace" && type != "Metaspace") return unsupported(type, "");
  if (before != Stage::tokens) return unsupported(type, kPlace);
  if (steps_.size() == kMaxSteps) return fail(Code::unsupported, "%s: more than %u steps", kWhere, kMaxSteps);
  if (type == "Replace") return read_replace(json);
  TDL_ASSIGN(Metaspace metaspace, Metaspace::read(json, kWhere));
  steps_.push_back({std::move(metaspace.replacement), " ", metaspace.prepend != Metaspace::Prepend::never});
  return {};
}

Status Decoder::read_replace(Json json) {
  const Json pattern = json.find("pattern");
  std::string_view text, content;
  if (pattern.find("Regex")) return unsupported("Replace", " of a Regex");
  TDL_TRY(need_string(pattern, kWhere, "String", &text));
  TDL_TRY(need_string(json, kWhere, "content", &content));
  if (text.empty()) return unsupported("Replace", " of nothing");
  steps_.push_back({std::string(text), std::string(content), false});
  return {};
}

Status Decoder::read_strip(Json json) {
  std::string_view content;
  TDL_TRY(need_string(json, kWhere, "content", &content));
  if (content.empty() || first_char(content).length != content.size())
    return fail(Code::format, "%s.content of Strip must be one character", kWhere);
  const Json start = json.find("start"), stop = json.find("stop");
  if (!start.is(JsonKind::natural) || !stop.is(JsonKind::natural))
    return fail(Code::format, "%s: start and stop of Strip must be numbers", kWhere);
  // What is last in a text is known at its end only, so tokens could not be handed out as they come.
  if (stop.natural() != 0) return unsupported("Strip", " with a stop");
  strip_ = content;
  strip_count_ = start.natural();
  return {};
}

Status Decoder::append(std::string_view token, bool first, std::string* bytes) const {
  if (byte_level_) {
    unspell_token(token, bytes);
    return {};
  }
  std::string text(token);
  for (const Step& step : steps_)
    TDL_TRY(replace_all(step.pattern, first && step.drops_first ? std::string_view() : step.content, kWhere, &text));
  const int byte = byte_fallback_ ? byte_of_token(text) : -1;
  if (byte < 0)
    bytes->append(text);
  else
    bytes->push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  return {};
}

void Decoder::strip(std::string* text) const {
  size_t end = 0;
  for (uint64_t n = 0; n < strip_count_ && text->compare(end, strip_.size(), strip_) == 0; ++n) end += strip_.size();
  text->erase(0, end);
}

}  // namespace tdl::text
