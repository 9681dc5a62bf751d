// JSON of files that nobody vouches for: tokenizer.json and tokenizer_config.json.  The only place of this room that includes
// nlohmann-json; its internal assertions throw instead of ending the process, and parse_json makes that an error too.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/status.h"

namespace tdl::text {
[[noreturn]] void json_assertion(const char* condition);
}

#ifndef JSON_ASSERT
#define JSON_ASSERT(condition) ((condition) ? static_cast<void>(0) : ::tdl::text::json_assertion(#condition))
#endif
#include <nlohmann/json.hpp>

namespace tdl::text {

using Json = nlohmann::json;

// Parses all of `text`.  Refused as `format`, naming `file` and the byte: what is not JSON, malformed UTF-8, an object with one key
// twice, more than 64 levels of nesting, anything after the value.
Result<Json> parse_json(std::string_view text, const char* file);

// Reading fields.  `where` names the object in messages ("tokenizer.json: model").

// The member, or null when there is none, when it is null, or when `object` is no object.
const Json* find(const Json& object, const char* name);
// A boolean; `fallback` when it is absent or null.  `format` for another type.
Status read_bool(const Json& object, const char* where, const char* name, bool fallback, bool* value);
// A boolean that must be there, as the `tokenizers` package demands it: reading a default into it would guess at the tokens.
Status need_bool(const Json& object, const char* where, const char* name, bool* value);
// A string, in the file's life; empty when absent or null.  `format` for another type.
Status read_string(const Json& object, const char* where, const char* name, std::string_view* value);
// A string that must be there.
Status need_string(const Json& object, const char* where, const char* name, std::string_view* value);
// An array that must be there.
Status need_array(const Json& object, const char* where, const char* name, const Json** value);
// A token id: an integer in [0, 2^31).
Status to_token_id(const Json& value, const char* where, uint32_t* id);

// The text cut for a message: at most 40 bytes, at a character boundary.  For %.*s: first the length, then the pointer.
struct Shown {
  int length;
  const char* data;
};
Shown shown(std::string_view text);

}  // namespace tdl::text
