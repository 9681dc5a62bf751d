// What tokens stand for in a decoded text: tokenizer.json's "decoder".  Either ByteLevel, which reads a token as a spelling of
// bytes, or the steps of the tokenizers that spell characters: Replace and Metaspace give the spaces back, ByteFallback makes
// <0x..> a byte, Strip takes the space off the start that encoding put there.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/text/json_text.h"

namespace tdl::text {

class Decoder {
 public:
  static constexpr uint32_t kMaxSteps = 32;

  // `json`: the value of "decoder".  `byte_level`: the pre-tokenizer has ByteLevel, so the decoder must be ByteLevel, alone or in a
  // Sequence with Fuse behind it.  Else it is any of, in this order: Replace of a String and Metaspace; ByteFallback; Fuse; Strip
  // at the start, behind a Fuse.  `unsupported`, naming the type, for what does not fit this.
  static Result<Decoder> read(Json json, bool byte_level);

  // Appends what one token of the model stands for.  `first`: of a whole text; Metaspace drops the spaces of that token.  Bytes
  // stay bytes, also those that make no character.  `limit` when Replace makes the token longer than kMaxReplacedBytes.
  Status append(std::string_view token, bool first, std::string* bytes) const;

  // Strips the start of a whole decoded text.
  void strip(std::string* text) const;

 private:
  struct Step {
    std::string pattern, content;
    bool drops_first = false;  // in the first token the pattern goes away
  };
  enum class Stage : uint8_t { tokens, bytes, fused, stripped };  // how far into the order above a list is
  Status read_step(Json json, Stage* stage);
  Status read_replace(Json json);
  Status read_strip(Json json);

  bool byte_level_ = false;
  bool byte_fallback_ = false;
  std::vector<Step> steps_;
  std::string strip_;         // one character
  uint64_t strip_count_ = 0;  // at most so many of it
};

}  // namespace tdl::text
