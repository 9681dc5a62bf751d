// Byte pair encoding: a word starts as one token per byte (byte-level models) or per character (Llama 2's), and of all neighbours
// that a merge names, the pair of lowest rank, leftmost first, becomes one token, until no merge applies.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/text/json_text.h"
#include "runtime/text/vocabulary.h"

namespace tdl::text {

// Working memory of one encode call; reused from word to word.
struct BpeScratch {
  struct Symbol {
    uint32_t entry;       // kNoEntry: merged into its left neighbour
    uint32_t prev, next;  // indices of the neighbours that are left; kNoEntry at the ends
  };
  struct Candidate {
    uint64_t order;   // rank x 2^32 + index of the left symbol: the smallest is merged next
    uint32_t result;  // entry that the pair becomes
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::string spelling;  // of a whole word, for ignore_merges
};

// What a word is made of before any merge.
enum class WordUnit : uint8_t { byte, character };

class Bpe {
 public:
  // The tokens of `model` (the object "model" of tokenizer.json), appended to `tokens`.
  static Status read_vocabulary(Json model, std::vector<NewToken>* tokens);
  // `vocabulary` holds the tokens that read_vocabulary gave.  `unsupported` for a model of another type, for dropout,
  // continuing_subword_prefix and end_of_word_suffix, and for byte_fallback of words of bytes; `format` for a merge of tokens that
  // are not there.
  static Result<Bpe> read(Json model, WordUnit unit, const Vocabulary& vocabulary);

  // Appends the ids of one word, which is raw bytes; a malformed byte counts as a character.  A character without a token becomes
  // the tokens <0x..> of its bytes, if the model has byte fallback and all of them.  What still has none becomes the unknown token;
  // where the model has none it is an error (`unsupported`), never dropped.  n bytes cost O(n log n).
  Status encode(std::string_view word, const Vocabulary& vocabulary, BpeScratch* scratch, std::vector<uint32_t>* ids) const;

 private:
  struct Merge {
    uint32_t right;   // entry
    uint32_t rank;    // place in the file
    uint32_t result;  // entry
  };
  Status read_merges(Json merges, const Vocabulary& vocabulary);
  const Merge* find_merge(uint32_t left, uint32_t right) const;
  Status start_word(std::string_view word, const Vocabulary& vocabulary, BpeScratch* scratch) const;
  bool fall_back(std::string_view unit, BpeScratch* scratch) const;
  void merge_word(BpeScratch* scratch) const;

  WordUnit unit_ = WordUnit::byte;
  std::array<uint32_t, 256> of_byte_{};  // entry of the byte's token (byte fallback: of <0x..>), or kNoEntry
  uint32_t unknown_ = kNoEntry;
  bool fuse_unknown_ = false;    // a run of unknown units is one token
  bool ignore_merges_ = false;   // a word that is a token is that token, whatever the merges would give
  std::vector<uint32_t> first_;  // [entries + 1] merges_[first_[left] .. first_[left + 1]] are those of `left`, sorted by right
  std::vector<Merge> merges_;
};

}  // namespace tdl::text
