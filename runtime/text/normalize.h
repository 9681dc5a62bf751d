// Rewrites text before it is cut: the steps of tokenizer.json's "normalizer", in order.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/text/json_text.h"

namespace tdl::text {

class Normalizer {
 public:
  static constexpr uint32_t kMaxSteps = 32;

  // `json`: the value of "normalizer", absent when the file has none.  Known: NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace of
  // a String, and Sequences of them; `unsupported`, naming the type, for any other.
  static Result<Normalizer> read(Json json);

  // Replaces *text by its normal form.  Malformed bytes stay as they are, and nothing composes across them; an empty text stays
  // empty. `limit` when a step makes it longer than kMaxReplacedBytes. Unicode 15 (utf8proc); costs O(n log n) whatever the text.
  Status apply(std::string* text) const;
  bool empty() const { return steps_.empty(); }

 private:
  enum class Kind : uint8_t { nfc, nfd, nfkc, nfkd, lowercase, prepend, replace };
  struct Step {
    Kind kind;
    std::string pattern, content;  // replace: what and by what; prepend: content
  };
  Status read_step(Json json);
  std::vector<Step> steps_;
};

}  // namespace tdl::text
