// The tokens that tokenizer.json's "post_processor" puts around a text: a BOS before, an EOS behind.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/text/json_text.h"
#include "runtime/text/vocabulary.h"

namespace tdl::text {

class PostProcessor {
 public:
  // `json`: the value of "post_processor", absent when the file has none.  Known: TemplateProcessing, once, whose "single" template
  // must hold the text once, ByteLevel (it only trims offsets) and Sequences of them; `unsupported` for other types, `format` for
  // ids that are not in the vocabulary.
  static Result<PostProcessor> read(Json json, const Vocabulary& vocabulary);

  const std::vector<uint32_t>& before() const { return before_; }  // ids
  const std::vector<uint32_t>& behind() const { return behind_; }

 private:
  Status read_step(Json json, const Vocabulary& vocabulary);
  Status read_template(Json json, const Vocabulary& vocabulary);
  std::vector<uint32_t> before_, behind_;
  bool has_template_ = false;
};

}  // namespace tdl::text
