// Cuts text into the words that BPE works on: the steps of tokenizer.json's "pre_tokenizer", in order.  Known: Split, Digits,
// Metaspace and, last and once, ByteLevel; Sequences of them are flattened.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/text/json_text.h"
#include "runtime/text/regex.h"

namespace tdl::text {

// Receives the words in order; none is empty.  A word is valid during the call.
class WordSink {
 public:
  virtual Status word(std::string_view bytes) = 0;

 protected:
  ~WordSink() = default;
};

// What becomes of the matches of a split: pieces of their own, dropped, joined to the text before or behind, or runs of matches as
// one.
enum class SplitBehavior : uint8_t { isolated, removed, merged_with_previous, merged_with_next, contiguous };

class PreTokenizer {
 public:
  static constexpr uint32_t kMaxSteps = 32;  // a step's pieces go through the next one inside it

  // `json`: the value of "pre_tokenizer", absent when the file has none: then a text is one word.  `unsupported`, naming the type,
  // for steps of other kinds and for steps behind ByteLevel.
  static Result<PreTokenizer> read(Json json);

  // ByteLevel was read: BPE starts from bytes, else from characters.
  bool byte_level() const { return byte_level_; }

  // Gives the words of `text` to the sink.  `at_start`: nothing stands before it in the text that is encoded, no special token
  // either.  Malformed bytes match no pattern and are kept.  Stops at the sink's first failure.
  Status split(std::string_view text, bool at_start, RegexScratch* scratch, WordSink* sink) const;

 private:
  struct Step {
    Regex pattern;
    SplitBehavior behavior = SplitBehavior::isolated;
    bool invert = false;  // the text between the matches counts as the matches
    bool splits = true;   // false: pattern is none (ByteLevel without its regex, Metaspace without split)
    // Before splitting: what becomes of spaces, and what a piece then gets in front unless it starts with it.  Empty: nothing.
    std::string space, prefix;
    bool prefix_at_start = false;  // only the piece at the start of the whole text gets one
  };
  Status read_step(Json json);
  static Status read_metaspace(Json json, Step* step);
  Status run(size_t step, std::string_view text, bool at_start, RegexScratch* scratch, WordSink* sink) const;

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace tdl::text
