// Tokens that are found in the text itself, before any other rule: <|endoftext|>, <think> and their like.  Of those that could
// start at a place the longest is taken, and the leftmost place first.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/text/json_text.h"
#include "runtime/text/normalize.h"
#include "runtime/text/vocabulary.h"

namespace tdl::text {

// A stretch of text: an added token with the space that it swallows, or what lies between two.
struct Segment {
  size_t begin, end;  // bytes
  uint32_t id;        // kNoToken: text
};
constexpr uint32_t kNoToken = 0xFFFFFFFFu;

class AddedTokens {
 public:
  // `list`: the value of "added_tokens", absent when the file has none.  `tokens` holds the model's and gets the added ones.
  // One that is in the model's vocabulary must have its id there (`format`); the others are numbered on from the number of the
  // model's tokens in the order of the file, as the `tokenizers` package does, even where the file says otherwise.
  static Result<AddedTokens> read(Json list, const Normalizer& normalizer, std::vector<NewToken>* tokens);

  // The first look, at text as it was given: tokens that are not "normalized".  And the second look, at normalized text between
  // those of the first.  With `special` false the special tokens are text, but still hide what overlaps them.  Replaces *segments,
  // which cover the text in order.  Costs the length of the text times that of the longest token that could start at most of its
  // bytes.
  void find_raw(std::string_view text, bool special, std::vector<Segment>* segments) const { find(raw_, text, special, segments); }
  void find_normalized(std::string_view text, bool special, std::vector<Segment>* segments) const {
    find(normalized_, text, special, segments);
  }

 private:
  struct Token {
    uint32_t id;
    bool special;
    bool single_word;     // only where no letter, digit or _ touches it
    bool lstrip, rstrip;  // takes the white space before it, behind it
  };
  struct Pattern {
    std::string content;
    Token token;
  };
  struct Matcher {
    std::vector<Pattern> patterns;         // sorted, none empty, none twice
    std::array<uint32_t, 257> first = {};  // [byte] the first pattern that starts with it or a later byte
    void build();
    const Pattern* longest_at(std::string_view text, size_t at) const;
  };
  static void find(const Matcher& matcher, std::string_view text, bool special, std::vector<Segment>* segments);

  Matcher raw_, normalized_;
};

}  // namespace tdl::text
