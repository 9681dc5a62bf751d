#include "runtime/text/post_process.h"

namespace tdl::text {
namespace {

constexpr const char* kWhere = "tokenizer.json: post_processor";
constexpr const char* kDecoder = "tokenizer.json: decoder";

// The ids of one entry of "special_tokens", which a template names.
Status append_special(const Json& table, std::string_view name, const Vocabulary& vocabulary, std::vector<uint32_t>* ids) {
  const Shown cut = shown(name);
  const auto* members = table.get_ptr<const Json::object_t*>();
  const auto found = members->find(std::string(name));
  if (found == members->end()) return fail(Code::format, "%s: special token \"%.*s\" is not defined", kWhere, cut.length, cut.data);
  const Json* list = nullptr;
  TDL_TRY(need_array(found->second, kWhere, "ids", &list));
  for (const Json& value : *list) {
    uint32_t id = 0;
    TDL_TRY(to_token_id(value, kWhere, &id));
    if (vocabulary.find_id(id) == kNoEntry) return fail(Code::format, "%s: id %u of \"%.*s\" is no token", kWhere, id, cut.length, cut.data);
    ids->push_back(id);
  }
  return {};
}

}  // namespace

Result<PostProcessor> PostProcessor::read(const Json* json, const Vocabulary& vocabulary) {
  PostProcessor result;
  if (json != nullptr) TDL_TRY(result.read_step(*json, vocabulary));
  return result;
}

Status PostProcessor::read_step(const Json& json, const Vocabulary& vocabulary) {
  std::string_view type;
  TDL_TRY(need_string(json, kWhere, "type", &type));
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_template(json, vocabulary);
  if (type == "Sequence") {
    const Json* list = nullptr;
    TDL_TRY(need_array(json, kWhere, "processors", &list));
    for (const Json& step : *list) TDL_TRY(read_step(step, vocabulary));  // as deep as the JSON, which is bounded
    return {};
  }
  const Shown name = shown(type);
  return fail(Code::unsupported, "%s type \"%.*s\" is not supported", kWhere, name.length, name.data);
}

Status PostProcessor::read_template(const Json& json, const Vocabulary& vocabulary) {
  if (has_template_) return fail(Code::unsupported, "%s with more than one TemplateProcessing is not supported", kWhere);
  has_template_ = true;
  const Json* single = nullptr;
  TDL_TRY(need_array(json, kWhere, "single", &single));
  const Json* table = find(json, "special_tokens");
  if (table == nullptr || !table->is_object()) return fail(Code::format, "%s.special_tokens must be an object", kWhere);
  bool text = false;  // the place of the text has been passed
  for (const Json& piece : *single) {
    std::string_view name;
    if (const Json* token = find(piece, "SpecialToken")) {
      TDL_TRY(need_string(*token, kWhere, "id", &name));
      TDL_TRY(append_special(*table, name, vocabulary, text ? &behind_ : &before_));
      continue;
    }
    const Json* sequence = find(piece, "Sequence");
    if (sequence == nullptr) return fail(Code::format, "%s.single has a piece that is neither Sequence nor SpecialToken", kWhere);
    TDL_TRY(need_string(*sequence, kWhere, "id", &name));
    if (name != "A" || text) return fail(Code::unsupported, "%s.single must hold the sequence A once", kWhere);
    text = true;
  }
  if (!text) return fail(Code::unsupported, "%s.single must hold the sequence A once", kWhere);
  return {};
}

Status check_decoder(const Json* json) {
  if (json == nullptr) return fail(Code::unsupported, "%s without ByteLevel is not supported", kDecoder);
  std::string_view type;
  TDL_TRY(need_string(*json, kDecoder, "type", &type));
  const Json* list = nullptr;
  if (type == "Sequence") {
    TDL_TRY(need_array(*json, kDecoder, "decoders", &list));
    if (list->empty()) return fail(Code::unsupported, "%s without ByteLevel is not supported", kDecoder);
  }
  for (size_t i = 0; i < (list ? list->size() : 1); ++i) {
    if (list) TDL_TRY(need_string((*list)[i], kDecoder, "type", &type));
    if (type == (i == 0 ? "ByteLevel" : "Fuse")) continue;
    const Shown name = shown(type);
    return fail(Code::unsupported, "%s type \"%.*s\" is not supported%s", kDecoder, name.length, name.data, i == 0 ? "" : " behind ByteLevel");
  }
  return {};
}

}  // namespace tdl::text
