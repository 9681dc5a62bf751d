#include "runtime/text/bpe.h"

#include <algorithm>

#include "runtime/text/byte_level.h"
#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

// One byte, or one character at the start of `word`, which is not empty.
size_t unit_length(WordUnit unit, std::string_view word) {
  const size_t length = unit == WordUnit::byte ? 1 : first_char(word).length;
  return length == 0 ? 1 : length;
}

void push(uint32_t entry, std::vector<BpeScratch::Symbol>* symbols) {
  const auto index = static_cast<uint32_t>(symbols->size());
  symbols->push_back({entry, index == 0 ? kNoEntry : index - 1, index + 1});
}

Status no_token(WordUnit unit, std::string_view text) {
  const Utf8Char character = first_char(text);
  if (unit == WordUnit::byte || character.length == 0) {
    return fail(Code::unsupported, "the vocabulary has no token for byte 0x%02X, and no unknown token",
                static_cast<unsigned>(static_cast<unsigned char>(text[0])));
  }
  return fail(Code::unsupported, "the vocabulary has no token for U+%04X, and no unknown token",
              static_cast<unsigned>(character.code_point));
}

bool later(const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
  return a.order > b.order;
}

}  // namespace

const Bpe::Merge* Bpe::find_merge(uint32_t left, uint32_t right) const {
  const Merge* begin = merges_.data() + first_[left];
  const Merge* end = merges_.data() + first_[left + 1];
  const Merge* found = std::lower_bound(begin, end, right, [](const Merge& merge, uint32_t value) { return merge.right < value; });
  return found != end && found->right == right ? found : nullptr;
}

Status Bpe::encode(std::string_view word, const Vocabulary& vocabulary, BpeScratch* scratch, std::vector<uint32_t>* ids) const {
  if (word.size() >= kNoEntry) return fail(Code::limit, "a word of %zu bytes is too long to encode", word.size());
  if (ignore_merges_) {
    scratch->spelling.clear();
    if (unit_ == WordUnit::byte) spell_bytes(word, &scratch->spelling);
    const std::string_view spelling = unit_ == WordUnit::byte ? std::string_view(scratch->spelling) : word;
    if (const uint32_t entry = vocabulary.find_of_model(spelling); entry != kNoEntry) {
      ids->push_back(vocabulary.id(entry));
      return {};
    }
  }
  TDL_TRY(start_word(word, vocabulary, scratch));
  merge_word(scratch);
  for (const BpeScratch::Symbol& symbol : scratch->symbols) {
    if (symbol.entry != kNoEntry) ids->push_back(vocabulary.id(symbol.entry));
  }
  return {};
}

// An unknown unit waits until it is clear whether the next one joins it.  Byte tokens do not end the wait: as in the `tokenizers`
// package they then come before an unknown token that stood before them in the text.
Status Bpe::start_word(std::string_view word, const Vocabulary& vocabulary, BpeScratch* scratch) const {
  auto& symbols = scratch->symbols;
  symbols.clear();
  bool waiting = false;
  while (!word.empty()) {
    const std::string_view unit = word.substr(0, unit_length(unit_, word));
    word.remove_prefix(unit.size());
    const uint32_t entry = unit_ == WordUnit::byte ? of_byte_[static_cast<unsigned char>(unit[0])] : vocabulary.find_of_model(unit);
    if (entry != kNoEntry) {
      if (waiting) push(unknown_, &symbols);
      waiting = false;
      push(entry, &symbols);
    } else if (unit_ == WordUnit::byte || !fall_back(unit, scratch)) {
      if (unknown_ == kNoEntry) return no_token(unit_, unit);
      if (waiting && !fuse_unknown_) push(unknown_, &symbols);
      waiting = true;
    }
  }
  if (waiting) push(unknown_, &symbols);
  if (!symbols.empty()) symbols.back().next = kNoEntry;
  return {};
}

// Appends the byte tokens of `unit`; false, and none, when one is missing.
bool Bpe::fall_back(std::string_view unit, BpeScratch* scratch) const {
  const auto entry_of = [&](char byte) { return of_byte_[static_cast<unsigned char>(byte)]; };
  if (std::any_of(unit.begin(), unit.end(), [&](char byte) { return entry_of(byte) == kNoEntry; })) return false;
  for (const char byte : unit) push(entry_of(byte), &scratch->symbols);
  return true;
}

// A heap of candidates and a linked list of symbols.  A candidate may have gone stale: its left symbol merged away, or one of the
// two changed.  As in the `tokenizers` package it counts as fresh when what now stands there still merges to the same token.
void Bpe::merge_word(BpeScratch* scratch) const {
  auto& symbols = scratch->symbols;
  auto& heap = scratch->heap;
  heap.clear();
  const auto candidate = [&](uint32_t left) {  // the merge of the symbol at `left` with its right neighbour, if there is one
    const uint32_t right = symbols[left].next;
    const Merge* merge = right == kNoEntry ? nullptr : find_merge(symbols[left].entry, symbols[right].entry);
    if (merge == nullptr) return false;
    heap.push_back({(static_cast<uint64_t>(merge->rank) << 32) | left, merge->result});
    return true;
  };
  for (uint32_t left = 0; left < symbols.size(); ++left) candidate(left);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const BpeScratch::Candidate best = heap.back();
    heap.pop_back();
    const auto left = static_cast<uint32_t>(best.order);
    const uint32_t right = symbols[left].next;
    if (symbols[left].entry == kNoEntry || right == kNoEntry) continue;
    const Merge* merge = find_merge(symbols[left].entry, symbols[right].entry);
    if (merge == nullptr || merge->result != best.result) continue;

    const uint32_t next = symbols[right].next;
    symbols[left].entry = best.result;
    symbols[left].next = next;
    symbols[right].entry = kNoEntry;
    if (next != kNoEntry) symbols[next].prev = left;
    if (symbols[left].prev != kNoEntry && candidate(symbols[left].prev)) std::push_heap(heap.begin(), heap.end(), later);
    if (candidate(left)) std::push_heap(heap.begin(), heap.end(), later);
  }
}

}  // namespace tdl::text
