#include "runtime/text/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>
#include <unordered_map>

#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

constexpr const char* kWhere = "tokenizer.json: added_tokens";

struct Listed {
  std::string_view content;
  uint32_t declared = 0;  // id in the file
  uint32_t id = kNoToken;
  bool special = false, single_word = false, lstrip = false, rstrip = false, normalized = false;
};

Status read_listed(Json json, Listed* token) {
  if (!json.is(JsonKind::object)) return fail(Code::format, "%s: an entry is no object", kWhere);
  TDL_TRY(need_string(json, kWhere, "content", &token->content));
  TDL_TRY(to_token_id(json.find("id"), kWhere, &token->declared));
  TDL_TRY(need_bool(json, kWhere, "special", &token->special));
  TDL_TRY(need_bool(json, kWhere, "single_word", &token->single_word));
  TDL_TRY(need_bool(json, kWhere, "lstrip", &token->lstrip));
  TDL_TRY(need_bool(json, kWhere, "rstrip", &token->rstrip));
  return need_bool(json, kWhere, "normalized", &token->normalized);
}

Status contradiction(std::string_view content, uint32_t declared, uint32_t other) {
  const Shown name = shown(content);
  return fail(Code::format, "%s: \"%.*s\" has id %u, but the vocabulary gives it %u", kWhere, name.length, name.data, declared,
              other);
}

// Gives each its id, and finds ids and contents that contradict each other.
Status number(const std::vector<NewToken>& model, std::vector<Listed>* list) {
  std::unordered_map<std::string_view, Listed*> by_content;
  std::unordered_map<uint32_t, const Listed*> by_declared;
  for (Listed& token : *list) {
    const Shown name = shown(token.content);
    if (!by_content.emplace(token.content, &token).second)
      return fail(Code::format, "%s: \"%.*s\" appears twice", kWhere, name.length, name.data);
    if (!by_declared.emplace(token.declared, &token).second)
      return fail(Code::format, "%s: id %u appears twice", kWhere, token.declared);
  }
  uint32_t next = static_cast<uint32_t>(model.size());
  for (const NewToken& known : model) {
    const auto found = by_content.find(known.content);
    if (found != by_content.end()) {
      if (found->second->declared != known.id) return contradiction(known.content, found->second->declared, known.id);
      found->second->id = known.id;
    } else if (const auto taken = by_declared.find(known.id); taken != by_declared.end()) {
      const Shown name = shown(taken->second->content), owner = shown(known.content);
      return fail(Code::format, "%s: \"%.*s\" has id %u, which is \"%.*s\"", kWhere, name.length, name.data, known.id, owner.length,
                  owner.data);
    }
  }
  // A token that the model knows with an id past the end moves the numbering on as well.
  for (Listed& token : *list) {
    if (token.id == kNoToken) token.id = next;
    if (token.id >= next) next = token.id + 1;
  }
  return {};
}

// What Rust's \w means: Alphabetic, marks, decimal digits, connectors, and the two joiners.
bool is_word(uint32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      break;
  }
  // The symbols that are Alphabetic: letters in circles and squares.
  return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  const Utf8Char before = last_char(text.substr(0, begin)), behind = first_char(text.substr(end));
  return !(before.length != 0 && is_word(before.code_point)) && !(behind.length != 0 && is_word(behind.code_point));
}

}  // namespace

Result<AddedTokens> AddedTokens::read(Json json, const Normalizer& normalizer, std::vector<NewToken>* tokens) {
  AddedTokens result;
  if (!json) return result;
  if (!json.is(JsonKind::array)) return fail(Code::format, "%s must be an array", kWhere);
  std::vector<Listed> list;
  list.reserve(json.size());
  for (uint32_t i = 0; i < json.size(); ++i) {
    Listed token;
    TDL_TRY(read_listed(json[i], &token));
    if (!token.content.empty()) list.push_back(token);  // an empty one is ignored, as in the `tokenizers` package
  }
  TDL_TRY(number(*tokens, &list));
  // Special tokens first: where the normalizer makes two contents equal, the first is found.
  std::stable_sort(list.begin(), list.end(), [](const Listed& a, const Listed& b) { return a.special > b.special; });
  for (const Listed& token : list) {
    tokens->push_back({token.content, token.id, false, token.special});
    std::string content(token.content);
    if (token.normalized) TDL_TRY(normalizer.apply(&content));
    if (content.empty()) continue;
    auto& patterns = (token.normalized ? result.normalized_ : result.raw_).patterns;
    patterns.push_back({std::move(content), {token.id, token.special, token.single_word, token.lstrip, token.rstrip}});
  }
  result.raw_.build();
  result.normalized_.build();
  return result;
}

void AddedTokens::Matcher::build() {
  std::stable_sort(patterns.begin(), patterns.end(), [](const Pattern& a, const Pattern& b) { return a.content < b.content; });
  const auto same = [](const Pattern& a, const Pattern& b) { return a.content == b.content; };
  patterns.erase(std::unique(patterns.begin(), patterns.end(), same), patterns.end());
  for (const Pattern& pattern : patterns) ++first[static_cast<unsigned char>(pattern.content[0]) + 1u];
  for (size_t byte = 1; byte < first.size(); ++byte) first[byte] += first[byte - 1];
}

// Narrows the range of patterns that agree with the text, byte by byte; what ends inside the range comes first in it.
const AddedTokens::Pattern* AddedTokens::Matcher::longest_at(std::string_view text, size_t at) const {
  const auto byte_at = [](const Pattern& pattern, size_t i) { return static_cast<unsigned char>(pattern.content[i]); };
  const auto lead = static_cast<unsigned char>(text[at]);
  auto low = patterns.begin() + first[lead], high = patterns.begin() + first[lead + 1u];
  const Pattern* longest = nullptr;
  for (size_t length = 1; low != high; ++length) {
    if (low->content.size() == length) longest = &*low++;
    if (at + length == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[at + length]);
    low = std::partition_point(low, high, [&](const Pattern& pattern) { return byte_at(pattern, length) < byte; });
    high = std::partition_point(low, high, [&](const Pattern& pattern) { return byte_at(pattern, length) == byte; });
  }
  return longest;
}

void AddedTokens::find(const Matcher& matcher, std::string_view text, bool special, std::vector<Segment>* segments) {
  segments->clear();
  size_t done = 0;  // everything before is in a segment
  for (size_t at = 0; at < text.size() && !matcher.patterns.empty();) {
    const Pattern* found = matcher.longest_at(text, at);
    if (found == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + found->content.size();
    at = end;
    const Token& token = found->token;
    if ((token.special && !special) || (token.single_word && !stands_alone(text, begin, end))) continue;
    if (token.lstrip) {
      begin = std::max(begin, done);
      for (Utf8Char c; (c = last_char(text.substr(done, begin - done))).length != 0 && is_white_space(c.code_point);)
        begin -= c.length;
    }
    if (token.rstrip) {
      for (Utf8Char c; (c = first_char(text.substr(end))).length != 0 && is_white_space(c.code_point);) end += c.length;
    }
    if (done < begin) segments->push_back({done, begin, kNoToken});
    segments->push_back({begin, end, token.id});
    done = end;  // the next token may start before it, in white space that this one took: both are tokens then
  }
  if (done != text.size()) segments->push_back({done, text.size(), kNoToken});
}

}  // namespace tdl::text
