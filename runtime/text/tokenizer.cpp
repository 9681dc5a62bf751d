#include "runtime/text/tokenizer.h"

#include <utility>

#include "runtime/text/json_text.h"

namespace tdl::text {
namespace {

constexpr const char* kConfig = "tokenizer_config.json";

// Hands the words of a piece to BPE.
class Encoder final : public WordSink {
 public:
  Encoder(const Bpe& bpe, const Vocabulary& vocabulary, std::vector<uint32_t>* ids)
      : bpe_(bpe), vocabulary_(vocabulary), ids_(ids) {}
  Status word(std::string_view bytes) override { return bpe_.encode(bytes, vocabulary_, &scratch_, ids_); }

 private:
  const Bpe& bpe_;
  const Vocabulary& vocabulary_;
  std::vector<uint32_t>* ids_;
  BpeScratch scratch_;
};

// A token of tokenizer_config.json: a string, or an object with its content.
Status read_token(Json config, const char* name, const Vocabulary& vocabulary, int32_t* id) {
  const Json value = config.find(name);
  if (!value) return {};
  std::string_view content;
  if (value.is(JsonKind::object))
    TDL_TRY(need_string(value, kConfig, "content", &content));
  else
    TDL_TRY(read_string(config, kConfig, name, &content));
  if (const uint32_t entry = vocabulary.find(content); entry != kNoEntry) *id = static_cast<int32_t>(vocabulary.id(entry));
  return {};
}

}  // namespace

Result<std::unique_ptr<const Tokenizer>> Tokenizer::create(std::string_view tokenizer_json,
                                                           std::string_view tokenizer_config_json) {
  TDL_ASSIGN(const JsonDocument document, JsonDocument::parse(tokenizer_json, "tokenizer.json"));
  const Json json = document.root();
  std::string_view version;
  TDL_TRY(read_string(json, "tokenizer.json", "version", &version));
  if (json.find("version") && version != "1.0") return fail(Code::unsupported, "tokenizer.json: only version 1.0 is supported");
  const Json model = json.find("model");
  if (!model) return fail(Code::format, "tokenizer.json has no model");
  auto tokenizer = std::make_unique<Tokenizer>();
  TDL_ASSIGN(tokenizer->normalizer_, Normalizer::read(json.find("normalizer")));
  TDL_ASSIGN(tokenizer->pre_tokenizer_, PreTokenizer::read(json.find("pre_tokenizer")));
  const bool byte_level = tokenizer->pre_tokenizer_.byte_level();
  TDL_ASSIGN(tokenizer->decoder_, Decoder::read(json.find("decoder"), byte_level));
  std::vector<NewToken> tokens;
  TDL_TRY(Bpe::read_vocabulary(model, &tokens));
  TDL_ASSIGN(tokenizer->added_, AddedTokens::read(json.find("added_tokens"), tokenizer->normalizer_, &tokens));
  TDL_ASSIGN(tokenizer->vocabulary_, Vocabulary::build(std::move(tokens)));
  const WordUnit unit = byte_level ? WordUnit::byte : WordUnit::character;
  TDL_ASSIGN(tokenizer->bpe_, Bpe::read(model, unit, tokenizer->vocabulary_));
  TDL_ASSIGN(tokenizer->post_processor_, PostProcessor::read(json.find("post_processor"), tokenizer->vocabulary_));
  if (!tokenizer_config_json.empty()) TDL_TRY(tokenizer->read_config(tokenizer_config_json));
  return std::unique_ptr<const Tokenizer>(std::move(tokenizer));
}

Status Tokenizer::read_config(std::string_view tokenizer_config_json) {
  TDL_ASSIGN(const JsonDocument document, JsonDocument::parse(tokenizer_config_json, kConfig));
  const Json config = document.root();
  if (!config.is(JsonKind::object)) return fail(Code::format, "%s is no object", kConfig);
  TDL_TRY(read_token(config, "bos_token", vocabulary_, &bos_));
  TDL_TRY(read_token(config, "eos_token", vocabulary_, &eos_));
  return read_token(config, "pad_token", vocabulary_, &pad_);
}

Status Tokenizer::encode(std::string_view text, EncodeOptions options, std::vector<uint32_t>* ids) const {
  if (text.size() > kMaxTextBytes)
    return fail(Code::limit, "a text of %zu bytes is too long to encode", text.size()).needs(text.size());
  ids->clear();
  if (options.add_special) *ids = post_processor_.before();
  Encoder encoder(bpe_, vocabulary_, ids);
  RegexScratch scratch;
  std::vector<Segment> outer, inner;
  std::string normalized;
  added_.find_raw(text, !options.special_is_text, &outer);
  for (const Segment& segment : outer) {
    if (segment.id != kNoToken) {
      ids->push_back(segment.id);
      continue;
    }
    std::string_view piece = text.substr(segment.begin, segment.end - segment.begin);
    if (!normalizer_.empty()) {
      normalized.assign(piece);
      TDL_TRY(normalizer_.apply(&normalized));
      piece = normalized;
    }
    added_.find_normalized(piece, !options.special_is_text, &inner);
    for (const Segment& part : inner) {
      const bool at_start = segment.begin == 0 && part.begin == 0;
      if (part.id != kNoToken)
        ids->push_back(part.id);
      else
        TDL_TRY(pre_tokenizer_.split(piece.substr(part.begin, part.end - part.begin), at_start, &scratch, &encoder));
    }
  }
  if (options.add_special) ids->insert(ids->end(), post_processor_.behind().begin(), post_processor_.behind().end());
  return {};
}

Status Tokenizer::decode(const uint32_t* ids, size_t count, bool leave_special_out, std::string* bytes) const {
  bytes->clear();
  bool first = true;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t entry = vocabulary_.find_id(ids[i]);
    if (entry == kNoEntry)
      return fail(Code::range, "token %u at index %zu is not in the vocabulary", ids[i], i).at_row(static_cast<int64_t>(i));
    if (leave_special_out && vocabulary_.special(entry)) continue;
    TDL_TRY(append_bytes(entry, first, bytes));
    first = false;
  }
  decoder_.strip(bytes);
  return {};
}

Status Tokenizer::token_bytes(uint32_t id, std::string* bytes) const {
  bytes->clear();
  const uint32_t entry = vocabulary_.find_id(id);
  if (entry == kNoEntry) return fail(Code::range, "token %u is not in the vocabulary", id).at_row(0);
  return append_bytes(entry, false, bytes);
}

Status Tokenizer::append_bytes(uint32_t entry, bool first, std::string* bytes) const {
  if (vocabulary_.spelled(entry)) return decoder_.append(vocabulary_.content(entry), first, bytes);
  bytes->append(vocabulary_.content(entry));
  return {};
}

}  // namespace tdl::text
