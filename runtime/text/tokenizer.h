// A tokenizer: text to token ids and back, as Hugging Face's `tokenizers` package does it with the same tokenizer.json, which is
// the judge.  Text -> added tokens -> normalizer -> added tokens -> pre-tokenizer -> BPE -> post-processor.
//
// Where it differs, on purpose: truncation and padding of the file are ignored; text may be malformed UTF-8, whose bytes are kept;
// decoding gives bytes, without U+FFFD for those that are no character; an added token decodes to its content as the file has it;
// an id without a token is an error, and so is a character that has no token where there is no unknown token; contradictory ids
// are refused.  Patterns know Unicode 14 (PCRE2 10.42), normalization Unicode 15 (utf8proc 2.8): later characters count as
// unassigned.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"
#include "runtime/text/added_tokens.h"
#include "runtime/text/bpe.h"
#include "runtime/text/decoder.h"
#include "runtime/text/normalize.h"
#include "runtime/text/post_process.h"
#include "runtime/text/pretokenize.h"
#include "runtime/text/vocabulary.h"

namespace tdl::text {

struct EncodeOptions {
  bool special_is_text = false;  // special tokens in the text are not recognised
  bool add_special = false;      // with the tokens that the post-processor puts around a text
};

// Immutable: any number of threads may use one at the same time.
class Tokenizer {
 public:
  static constexpr size_t kMaxTextBytes = 0x7FFFFFFF;

  // The two files' contents; `tokenizer_config_json` may be empty (no file).  `format` for what is malformed or contradicts itself,
  // `unsupported`, naming type or field, for what this version does not do.
  static Result<std::unique_ptr<const Tokenizer>> create(std::string_view tokenizer_json, std::string_view tokenizer_config_json);

  uint32_t vocab_size() const { return vocabulary_.id_limit(); }  // largest id + 1
  // Ids of the tokens that tokenizer_config.json names; -1 where it names none, or one that is not in the vocabulary.
  int32_t bos() const { return bos_; }
  int32_t eos() const { return eos_; }
  int32_t pad() const { return pad_; }

  // Replaces *ids by those of `text`.  `limit` for more than kMaxTextBytes, and when a pattern takes too long; `unsupported` when
  // the vocabulary lacks a byte of the text.
  Status encode(std::string_view text, EncodeOptions options, std::vector<uint32_t>* ids) const;

  // Replaces *bytes by the text of ids[0..count); it may end inside a character.  The tokens' bytes one after the other, but for
  // the spaces that the decoder drops at the start.  An id without a token is `range`, with its index as row.
  Status decode(const uint32_t* ids, size_t count, bool leave_special_out, std::string* bytes) const;

  // Replaces *bytes by what one token stands for inside a text; a special token stands for its content.  `range` for an id without
  // a token.
  Status token_bytes(uint32_t id, std::string* bytes) const;

 private:
  Status read_config(std::string_view tokenizer_config_json);
  Status append_bytes(uint32_t entry, bool first, std::string* bytes) const;

  Vocabulary vocabulary_;
  AddedTokens added_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe bpe_;
  PostProcessor post_processor_;
  Decoder decoder_;
  int32_t bos_ = -1, eos_ = -1, pad_ = -1;
};

}  // namespace tdl::text
