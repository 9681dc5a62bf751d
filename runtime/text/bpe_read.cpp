// Reading a model: its vocabulary, its options, its merges.
#include <algorithm>
#include <cstdio>

#include "runtime/text/bpe.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

constexpr const char* kModel = "tokenizer.json: model";

Status check_type(Json model) {
  if (!model.is(JsonKind::object)) return fail(Code::format, "%s must be an object", kModel);
  std::string_view type;
  TDL_TRY(read_string(model, kModel, "type", &type));
  const bool untyped_bpe = !model.find("type") && model.find("merges");  // GPT-2's own file has no type
  if (type != "BPE" && !untyped_bpe) {
    const Shown name = shown(type);
    return fail(Code::unsupported, "%s type \"%.*s\" is not supported", kModel, name.length, name.data);
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    std::string_view value;
    TDL_TRY(read_string(model, kModel, affix, &value));
    if (!value.empty()) return fail(Code::unsupported, "%s.%s is not supported", kModel, affix);
  }
  if (const Json dropout = model.find("dropout"); dropout && !dropout.is_zero()) {
    return fail(Code::unsupported, "%s.dropout is not supported", kModel);
  }
  return {};
}

// Both forms of a merge: "a b", and ["a", "b"], which newer files use because tokens may hold spaces.  False: neither.
bool split_merge(Json merge, std::string_view* left, std::string_view* right) {
  if (merge.is(JsonKind::string)) {
    const std::string_view line = merge.text();
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) return false;
    *left = line.substr(0, space);
    *right = line.substr(space + 1);
    return true;
  }
  *left = merge[0].text();
  *right = merge[1].text();
  return merge.is(JsonKind::array) && merge.size() == 2 && merge[0].is(JsonKind::string) && merge[1].is(JsonKind::string);
}

// "#version: 0.2", the first line of the merges.txt that old files were made from.
bool is_comment(Json merge) {
  return merge.text().substr(0, 8) == "#version";
}

// How a vocabulary spells the token of a byte.
std::string byte_token(WordUnit unit, uint8_t byte) {
  std::string spelling;
  if (unit == WordUnit::byte) {
    append_utf8(&spelling, char_of_byte(byte));
  } else {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", static_cast<unsigned>(byte));
    spelling = text;
  }
  return spelling;
}
}  // namespace

Status Bpe::read_vocabulary(Json model, std::vector<NewToken>* tokens) {
  TDL_TRY(check_type(model));
  const Json vocab = model.find("vocab");
  if (!vocab.is(JsonKind::object)) return fail(Code::format, "%s.vocab must be an object", kModel);
  tokens->reserve(tokens->size() + vocab.size());
  for (uint32_t i = 0; i < vocab.size(); ++i) {
    NewToken token;
    token.content = vocab.key(i);
    token.of_model = true;
    TDL_TRY(to_token_id(vocab[i], "tokenizer.json: model.vocab", &token.id));
    tokens->push_back(token);
  }
  return {};
}

Result<Bpe> Bpe::read(Json model, WordUnit unit, const Vocabulary& vocabulary) {
  TDL_TRY(check_type(model));
  Bpe bpe;
  bpe.unit_ = unit;
  bool byte_fallback = false;
  TDL_TRY(read_bool(model, kModel, "byte_fallback", false, &byte_fallback));
  // The package would look for the bytes of ByteLevel's spelling, which no file means.
  if (byte_fallback && unit == WordUnit::byte)
    return fail(Code::unsupported, "%s.byte_fallback with ByteLevel is not supported", kModel);
  TDL_TRY(read_bool(model, kModel, "fuse_unk", false, &bpe.fuse_unknown_));
  TDL_TRY(read_bool(model, kModel, "ignore_merges", false, &bpe.ignore_merges_));
  std::string_view unknown;
  TDL_TRY(read_string(model, kModel, "unk_token", &unknown));
  if (!unknown.empty()) bpe.unknown_ = vocabulary.find_of_model(unknown);  // one that is missing matters only when it is needed
  bpe.of_byte_.fill(kNoEntry);
  for (uint32_t byte = 0; byte < 256 && (byte_fallback || unit == WordUnit::byte); ++byte)
    bpe.of_byte_[byte] = vocabulary.find_of_model(byte_token(unit, static_cast<uint8_t>(byte)));
  Json merges;
  TDL_TRY(need_array(model, kModel, "merges", &merges));
  TDL_TRY(bpe.read_merges(merges, vocabulary));
  return bpe;
}

Status Bpe::read_merges(Json merges, const Vocabulary& vocabulary) {
  struct Row {
    uint32_t left;
    Merge merge;
  };
  std::vector<Row> rows;
  rows.reserve(merges.size());
  std::string joined;
  for (uint32_t i = 0; i < merges.size(); ++i) {
    const Json merge = merges[i];
    if (is_comment(merge)) continue;
    const auto rank = static_cast<uint32_t>(rows.size());
    std::string_view left, right;
    if (!split_merge(merge, &left, &right)) return fail(Code::format, "%s.merges: entry %u is no pair of tokens", kModel, rank);
    joined.assign(left).append(right);
    const uint32_t entries[] = {vocabulary.find_of_model(left), vocabulary.find_of_model(right), vocabulary.find_of_model(joined)};
    const std::string_view names[] = {left, right, joined};
    for (int n = 0; n < 3; ++n) {
      if (entries[n] != kNoEntry) continue;
      const Shown name = shown(names[n]);
      return fail(Code::format, "%s.merges: entry %u needs \"%.*s\", which is not in the vocabulary", kModel, rank, name.length,
                  name.data);
    }
    if (left.empty() || right.empty()) return fail(Code::format, "%s.merges: entry %u joins an empty token", kModel, rank);
    rows.push_back({entries[0], {entries[1], rank, entries[2]}});
  }
  // By pair, and of a pair named twice the later one first: that is the one that counts in the `tokenizers` package.
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.left != b.left) return a.left < b.left;
    return a.merge.right != b.merge.right ? a.merge.right < b.merge.right : a.merge.rank > b.merge.rank;
  });
  const auto same_pair = [](const Row& a, const Row& b) { return a.left == b.left && a.merge.right == b.merge.right; };
  rows.erase(std::unique(rows.begin(), rows.end(), same_pair), rows.end());

  first_.assign(static_cast<size_t>(vocabulary.size()) + 1, 0);
  merges_.reserve(rows.size());
  for (const Row& row : rows) {
    ++first_[row.left + 1];
    merges_.push_back(row.merge);
  }
  for (size_t entry = 1; entry < first_.size(); ++entry) first_[entry] += first_[entry - 1];
  return {};
}
}  // namespace tdl::text
