// A parsed JSON text from an untrusted file.  nlohmann's parser does the reading, behind json.cpp; what it read is kept in two flat
// arrays, so that a checkpoint's header of a million tensors costs neither a tree of small allocations nor a slow look-up.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"

namespace tdl {

enum class JsonKind : uint8_t {
  absent,    // what find() gives for a key that is not there
  null,
  boolean,
  natural,   // an integer >= 0 that fits 64 bits, written without sign, fraction or exponent
  negative,  // an integer with a sign that fits 64 bits
  real,      // every other number; finite
  string,
  array,
  object,
};

// One value of a document, as its arrays hold it.
struct JsonSpan {
  uint32_t first, count;  // string: bytes in the document's text; array and object: nodes
};
struct JsonNode {
  JsonKind kind = JsonKind::null;
  uint32_t key = 0, key_bytes = 0;  // an object's member: where its key lies in the document's text
  uint32_t position = 0;            // byte after the key, or after the value where there is none
  union {
    uint64_t natural = 0;
    double number;                  // negative and real
    bool boolean;
    JsonSpan span;                  // string, array and object
  };
};

// A view of one value; valid as long as its document lives, wherever that is moved.  Cheap to copy.
class JsonValue {
 public:
  JsonValue() = default;
  JsonKind kind() const { return node_ ? node_->kind : JsonKind::absent; }
  bool is(JsonKind kind) const { return this->kind() == kind; }
  bool absent_or_null() const { return is(JsonKind::absent) || is(JsonKind::null); }

  // Each gives 0, false or nothing for values of another kind.
  bool boolean() const { return is(JsonKind::boolean) && node_->boolean; }
  uint64_t natural() const { return is(JsonKind::natural) ? node_->natural : 0; }
  double number() const;                        // of natural, negative and real
  std::string_view text() const;                // of a string
  uint32_t size() const;                        // elements or members
  JsonValue operator[](uint32_t index) const;   // element, or member in the order of the keys; absent past the end
  std::string_view key(uint32_t index) const;   // of the member that operator[] gives
  JsonValue find(std::string_view key) const;   // member; absent when there is none, or this is no object.  O(log members).

 private:
  friend class JsonDocument;
  const JsonNode* node_ = nullptr;
  const JsonNode* nodes_ = nullptr;
  const char* text_ = nullptr;
};

class JsonDocument {
 public:
  static constexpr uint32_t kMostDepth = 64;
  static constexpr uint32_t kMostValues = 1u << 24;  // a million tensors in a safetensors header are about 10 million values

  // Parses all of `text`.  format, naming `file` and the byte offset, for anything but one JSON value: malformed or trailing text,
  // invalid UTF-8, the same key twice in one object, more than kMostDepth levels, a number that a double cannot hold, more than
  // `most_values` values.
  static Result<JsonDocument> parse(std::string_view text, std::string_view file, uint32_t most_values = kMostValues);
  JsonValue root() const;

 private:
  std::vector<JsonNode> nodes_;  // the children of a value lie together, those of an object sorted by key; the root is the last
  std::vector<char> text_;       // keys and strings, without escapes
};

}  // namespace tdl
