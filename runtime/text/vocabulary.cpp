#include "runtime/text/vocabulary.h"

#include <algorithm>
#include <limits>

#include "runtime/text/json_text.h"

namespace tdl::text {

Result<Vocabulary> Vocabulary::build(std::vector<NewToken> tokens) {
  std::stable_sort(tokens.begin(), tokens.end(), [](const NewToken& a, const NewToken& b) { return a.id < b.id; });
  uint64_t bytes = 0;
  for (const NewToken& token : tokens) bytes += token.content.size();
  if (bytes > std::numeric_limits<uint32_t>::max()) return fail(Code::limit, "tokenizer.json: more than 4 GiB of tokens");

  Vocabulary vocabulary;
  vocabulary.pool_.reserve(bytes);
  vocabulary.entries_.reserve(tokens.size());
  vocabulary.by_content_.reserve(tokens.size());
  for (const NewToken& token : tokens) {
    const Shown name = shown(token.content);
    if (!vocabulary.entries_.empty() && vocabulary.entries_.back().id == token.id) {
      Entry& entry = vocabulary.entries_.back();
      const std::string_view content = vocabulary.content(vocabulary.size() - 1);
      if (content != token.content) {
        const Shown other = shown(content);
        return fail(Code::format, "tokenizer.json: id %u is given to \"%.*s\" and to \"%.*s\"", token.id, other.length, other.data,
                    name.length, name.data);
      }
      entry.of_model |= token.of_model;
      entry.special |= token.special;
      continue;
    }
    const auto first = static_cast<uint32_t>(vocabulary.pool_.size());
    vocabulary.pool_.insert(vocabulary.pool_.end(), token.content.begin(), token.content.end());  // never grows: views stay good
    const std::string_view content(vocabulary.pool_.data() + first, token.content.size());
    if (const auto [place, added] = vocabulary.by_content_.emplace(content, vocabulary.size()); !added) {
      return fail(Code::format, "tokenizer.json: \"%.*s\" has the ids %u and %u", name.length, name.data,
                  vocabulary.id(place->second), token.id);
    }
    vocabulary.entries_.push_back({first, static_cast<uint32_t>(token.content.size()), token.id, token.of_model, token.special});
  }
  return vocabulary;
}

uint32_t Vocabulary::find(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? kNoEntry : found->second;
}

uint32_t Vocabulary::find_of_model(std::string_view content) const {
  const uint32_t entry = find(content);
  return entry != kNoEntry && entries_[entry].of_model ? entry : kNoEntry;
}

uint32_t Vocabulary::find_id(uint32_t id) const {
  if (id < entries_.size() && entries_[id].id == id) return id;  // no gaps before it: the usual file
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), id, [](const Entry& entry, uint32_t value) { return entry.id < value; });
  return found == entries_.end() || found->id != id ? kNoEntry : static_cast<uint32_t>(found - entries_.begin());
}

}  // namespace tdl::text
