#include "runtime/text/pretokenize.h"

#include <algorithm>
#include <utility>

#include "runtime/text/metaspace.h"
#include "runtime/text/replace.h"

namespace tdl::text {
namespace {

constexpr const char* kWhere = "tokenizer.json: pre_tokenizer";

// GPT-2's pattern, which ByteLevel brings with it.  Source: encoder.py of openai/gpt-2.
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Piece {
  size_t begin, end;
  bool match;
};

// Matches and the text between them, in order.  They cover the text.
std::vector<Piece> cover(const std::vector<Match>& matches, size_t length, bool invert) {
  std::vector<Piece> pieces;
  pieces.reserve(2 * matches.size() + 1);
  size_t at = 0;
  for (const Match& match : matches) {
    if (at != match.begin) pieces.push_back({at, match.begin, invert});
    pieces.push_back({match.begin, match.end, !invert});
    at = match.end;
  }
  if (at != length) pieces.push_back({at, length, invert});
  return pieces;
}

// Joins neighbours as the behaviour says.  The piece that a match joins is whatever was put last, even another joined one: with the
// behaviours Merged* two matches in a row stay two pieces, as in the `tokenizers` package.
void join(SplitBehavior behavior, std::vector<Piece>* pieces) {
  const bool backwards = behavior == SplitBehavior::merged_with_next;
  const bool runs = behavior == SplitBehavior::contiguous;
  if (backwards) std::reverse(pieces->begin(), pieces->end());
  size_t kept = 0;
  bool before = false;  // the last piece was a match
  for (size_t i = 0; i < pieces->size(); ++i) {
    const Piece piece = (*pieces)[i];
    const bool joins = runs ? piece.match == before : piece.match && !before;
    before = piece.match;
    if (joins && kept > 0) {
      Piece& last = (*pieces)[kept - 1];
      if (backwards)
        last.begin = piece.begin;
      else
        last.end = piece.end;
    } else {
      (*pieces)[kept++] = piece;
    }
  }
  pieces->resize(kept);
  if (backwards) std::reverse(pieces->begin(), pieces->end());
}

Status unsupported(const char* what, std::string_view name) {
  const Shown cut = shown(name);
  return fail(Code::unsupported, "%s %s \"%.*s\" is not supported", kWhere, what, cut.length, cut.data);
}

Status read_behavior(Json json, SplitBehavior* behavior) {
  static constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Isolated", SplitBehavior::isolated},
      {"Removed", SplitBehavior::removed},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous},
  };
  std::string_view name;
  TDL_TRY(need_string(json, kWhere, "behavior", &name));
  for (const auto& [known, value] : kNames) {
    if (name == known) {
      *behavior = value;
      return {};
    }
  }
  return unsupported("behavior", name);
}

Result<Regex> read_pattern(Json json) {
  const Json pattern = json.find("pattern");
  if (!pattern.is(JsonKind::object) || pattern.size() != 1)
    return fail(Code::format, "%s.pattern must be an object of one member", kWhere);
  std::string_view text;
  if (pattern.find("Regex")) {
    TDL_TRY(read_string(pattern, kWhere, "Regex", &text));
    return Regex::compile(text);
  }
  TDL_TRY(need_string(pattern, kWhere, "String", &text));
  return Regex::literal(text);
}

}  // namespace

Result<PreTokenizer> PreTokenizer::read(Json json) {
  PreTokenizer result;
  if (json) TDL_TRY(result.read_step(json));
  return result;
}

Status PreTokenizer::read_step(Json json) {
  std::string_view type;
  TDL_TRY(need_string(json, kWhere, "type", &type));
  if (type == "Sequence") {
    Json list;
    TDL_TRY(need_array(json, kWhere, "pretokenizers", &list));
    for (uint32_t i = 0; i < list.size(); ++i) TDL_TRY(read_step(list[i]));  // as deep as the JSON, which is bounded
    return {};
  }
  if (steps_.size() == kMaxSteps) return fail(Code::unsupported, "%s: more than %u steps", kWhere, kMaxSteps);
  // Behind ByteLevel a step would see the spelling of the bytes instead of the text.
  if (byte_level_) return unsupported("type behind ByteLevel", type);
  Step step;
  if (type == "Split") {
    TDL_ASSIGN(step.pattern, read_pattern(json));
    TDL_TRY(read_behavior(json, &step.behavior));
    TDL_TRY(need_bool(json, kWhere, "invert", &step.invert));
  } else if (type == "Digits") {
    bool individual = false;
    TDL_TRY(need_bool(json, kWhere, "individual_digits", &individual));
    TDL_ASSIGN(step.pattern, Regex::compile("\\p{N}"));
    step.behavior = individual ? SplitBehavior::isolated : SplitBehavior::contiguous;
  } else if (type == "ByteLevel") {
    bool prefix = false;
    TDL_TRY(need_bool(json, kWhere, "add_prefix_space", &prefix));
    if (prefix) step.prefix.assign(1, ' ');
    TDL_TRY(read_bool(json, kWhere, "use_regex", true, &step.splits));
    if (step.splits) {
      TDL_ASSIGN(step.pattern, Regex::compile(kGpt2));
    }
    byte_level_ = true;
  } else if (type == "Metaspace") {
    TDL_TRY(read_metaspace(json, &step));
  } else {
    return unsupported("type", type);
  }
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::read_metaspace(Json json, Step* step) {
  TDL_ASSIGN(const Metaspace metaspace, Metaspace::read(json, kWhere));
  step->space = metaspace.replacement;
  if (metaspace.prepend != Metaspace::Prepend::never) step->prefix = metaspace.replacement;
  step->prefix_at_start = metaspace.prepend == Metaspace::Prepend::first;
  step->splits = metaspace.split;
  if (step->splits) {
    TDL_ASSIGN(step->pattern, Regex::literal(metaspace.replacement));
    step->behavior = SplitBehavior::merged_with_next;
  }
  return {};
}

Status PreTokenizer::split(std::string_view text, bool at_start, RegexScratch* scratch, WordSink* sink) const {
  return run(0, text, at_start, scratch, sink);
}

Status PreTokenizer::run(size_t index, std::string_view text, bool at_start, RegexScratch* scratch, WordSink* sink) const {
  if (text.empty()) return {};
  if (index == steps_.size()) return sink->word(text);
  const Step& step = steps_[index];
  std::string changed;
  if (!step.space.empty()) {
    changed.assign(text);
    TDL_TRY(replace_all(" ", step.space, kWhere, &changed));
    text = changed;
  }
  const bool starts_so = text.substr(0, step.prefix.size()) == step.prefix;
  if (!starts_so && (at_start || !step.prefix_at_start)) {
    std::string prefixed;
    prefixed.reserve(step.prefix.size() + text.size());
    prefixed.append(step.prefix).append(text);
    changed = std::move(prefixed);
    text = changed;
  }
  if (!step.splits) return run(index + 1, text, at_start, scratch, sink);

  std::vector<Match> matches;
  TDL_TRY(step.pattern.find_all(text, scratch, &matches));
  std::vector<Piece> pieces = cover(matches, text.size(), step.invert);
  const bool joins = step.behavior != SplitBehavior::isolated && step.behavior != SplitBehavior::removed;
  if (joins) join(step.behavior, &pieces);
  for (const Piece& piece : pieces) {
    if (step.behavior == SplitBehavior::removed && piece.match) continue;
    const std::string_view part = text.substr(piece.begin, piece.end - piece.begin);
    TDL_TRY(run(index + 1, part, at_start && piece.begin == 0, scratch, sink));
  }
  return {};
}

}  // namespace tdl::text
