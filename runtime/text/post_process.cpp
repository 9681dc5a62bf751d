#include "runtime/text/post_process.h"

namespace tdl::text {
namespace {

constexpr const char* kWhere = "tokenizer.json: post_processor";

// The ids of one entry of "special_tokens", which a template names.
Status append_special(Json table, std::string_view name, const Vocabulary& vocabulary, std::vector<uint32_t>* ids) {
  const Shown cut = shown(name);
  const Json token = table.find(name);
  if (!token) return fail(Code::format, "%s: special token \"%.*s\" is not defined", kWhere, cut.length, cut.data);
  Json list;
  TDL_TRY(need_array(token, kWhere, "ids", &list));
  for (uint32_t i = 0; i < list.size(); ++i) {
    uint32_t id = 0;
    TDL_TRY(to_token_id(list[i], kWhere, &id));
    if (vocabulary.find_id(id) == kNoEntry)
      return fail(Code::format, "%s: id %u of \"%.*s\" is no token", kWhere, id, cut.length, cut.data);
    ids->push_back(id);
  }
  return {};
}

}  // namespace

Result<PostProcessor> PostProcessor::read(Json json, const Vocabulary& vocabulary) {
  PostProcessor result;
  if (json) TDL_TRY(result.read_step(json, vocabulary));
  return result;
}

Status PostProcessor::read_step(Json json, const Vocabulary& vocabulary) {
  std::string_view type;
  TDL_TRY(need_string(json, kWhere, "type", &type));
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_template(json, vocabulary);
  if (type == "Sequence") {
    Json list;
    TDL_TRY(need_array(json, kWhere, "processors", &list));
    for (uint32_t i = 0; i < list.size(); ++i) TDL_TRY(read_step(list[i], vocabulary));  // as deep as the JSON, which is bounded
    return {};
  }
  const Shown name = shown(type);
  return fail(Code::unsupported, "%s type \"%.*s\" is not supported", kWhere, name.length, name.data);
}

Status PostProcessor::read_template(Json json, const Vocabulary& vocabulary) {
  if (has_template_) return fail(Code::unsupported, "%s with more than one TemplateProcessing is not supported", kWhere);
  has_template_ = true;
  Json single;
  TDL_TRY(need_array(json, kWhere, "single", &single));
  const Json table = json.find("special_tokens");
  if (!table.is(JsonKind::object)) return fail(Code::format, "%s.special_tokens must be an object", kWhere);
  bool text = false;  // the place of the text has been passed
  for (uint32_t i = 0; i < single.size(); ++i) {
    std::string_view name;
    if (const Json token = single[i].find("SpecialToken")) {
      TDL_TRY(need_string(token, kWhere, "id", &name));
      TDL_TRY(append_special(table, name, vocabulary, text ? &behind_ : &before_));
      continue;
    }
    const Json sequence = single[i].find("Sequence");
    if (!sequence) return fail(Code::format, "%s.single has a piece that is neither Sequence nor SpecialToken", kWhere);
    TDL_TRY(need_string(sequence, kWhere, "id", &name));
    if (name != "A" || text) return fail(Code::unsupported, "%s.single must hold the sequence A once", kWhere);
    text = true;
  }
  if (!text) return fail(Code::unsupported, "%s.single must hold the sequence A once", kWhere);
  return {};
}

}  // namespace tdl::text
