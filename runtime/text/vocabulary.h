// The tokens: strings with ids, those of the model and those added to it.  An entry is the place of a token in the order of the
// ids; ids may have gaps, entries have none, so everything inside works with entries and a file with one huge id costs nothing.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/core/status.h"

namespace tdl::text {

constexpr uint32_t kNoEntry = 0xFFFFFFFFu;

struct NewToken {
  std::string_view content;  // as the file spells it, valid while build() runs
  uint32_t id = 0;           // below 2^31
  bool of_model = false;     // BPE may produce it
  bool special = false;      // left out of a decode that is asked to
};

class Vocabulary {
 public:
  // Takes each token once; content and id may both come twice only together (a token of the model that was also added): the flags
  // are then joined.  `format` when an id has two contents or a content two ids.
  static Result<Vocabulary> build(std::vector<NewToken> tokens);

  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }  // entries
  uint32_t id_limit() const { return entries_.empty() ? 0 : entries_.back().id + 1; }

  uint32_t find(std::string_view content) const;           // any token; kNoEntry when there is none
  uint32_t find_of_model(std::string_view content) const;  // a token of the model
  uint32_t find_id(uint32_t id) const;

  uint32_t id(uint32_t entry) const { return entries_[entry].id; }
  std::string_view content(uint32_t entry) const { return {pool_.data() + entries_[entry].first, entries_[entry].bytes}; }
  bool special(uint32_t entry) const { return entries_[entry].special; }
  // True: a token of the model, whose content a decoder reads.  False: an added or special one stands for its content, which is
  // what was found in the text.  (The `tokenizers` package gives those to the decoder too, which spoils an added "\u00E9".)
  bool spelled(uint32_t entry) const { return entries_[entry].of_model && !entries_[entry].special; }

 private:
  struct Entry {
    uint32_t first, bytes;  // of the content, in pool_
    uint32_t id;
    bool of_model, special;
  };
  std::vector<Entry> entries_;  // by id
  std::vector<char> pool_;      // a vector, because its characters stay where they are when it is moved: by_content_ points at them
  std::unordered_map<std::string_view, uint32_t> by_content_;
};

}  // namespace tdl::text
