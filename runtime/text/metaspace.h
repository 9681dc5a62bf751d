// What tokenizer.json calls Metaspace, which pre-tokenizers and decoders share: the space is written as a character that prints,
// U+2581.
#pragma once
#include <cstdint>
#include <string>

#include "kernels/core/status.h"
#include "runtime/text/json_text.h"

namespace tdl::text {

struct Metaspace {
  enum class Prepend : uint8_t { always /* to each piece */, first /* to the piece at the start of the text */, never };

  // `where` names the object in messages.  Files from before "prepend_scheme" have "add_prefix_space": true is always, false never;
  // `format` when both are there and contradict each other.
  static Result<Metaspace> read(Json json, const char* where);

  std::string replacement;  // one character
  Prepend prepend = Prepend::always;
  bool split = true;  // before each replacement
};

}  // namespace tdl::text
