// JSON of files that nobody vouches for: tokenizer.json and tokenizer_config.json.  nlohmann's parser reads it, behind
// json_text.cpp; its value type is not used, because destroying one allocates, which ends the process when there is no memory.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/core/status.h"

namespace tdl::text {

enum class JsonKind : uint8_t {
  absent,
  null,
  boolean,
  natural /* an integer from 0 to 2^64 - 1 */,
  number /* any other */,
  string,
  array,
  object
};

// One value, as a document keeps it.
struct JsonNode {
  JsonKind kind = JsonKind::null;
  uint32_t key_first = 0, key_bytes = 0;  // of an object's member: its key, in the document's text
  uint32_t first = 0, count = 0;          // string: bytes of the document's text; array and object: nodes
  union {
    uint64_t natural = 0;
    double number;
    bool boolean;
  };
};

// A view of one value, or of none; valid as long as the document lives, wherever that is moved.
class Json {
 public:
  Json() = default;
  JsonKind kind() const { return node_ ? node_->kind : JsonKind::absent; }
  bool is(JsonKind kind) const { return this->kind() == kind; }
  // Null counts as absent: the files write it where an option is not used.
  explicit operator bool() const { return node_ && node_->kind != JsonKind::null; }

  // Each gives nothing, 0 or false for a value of another kind.
  bool boolean() const { return is(JsonKind::boolean) && node_->boolean; }
  uint64_t natural() const { return is(JsonKind::natural) ? node_->natural : 0; }
  bool is_zero() const { return is(JsonKind::natural) ? node_->natural == 0 : is(JsonKind::number) && node_->number == 0; }
  std::string_view text() const {
    return is(JsonKind::string) ? std::string_view(pool_ + node_->first, node_->count) : std::string_view();
  }
  uint32_t size() const { return is(JsonKind::array) || is(JsonKind::object) ? node_->count : 0; }
  Json operator[](uint32_t index) const { return index < size() ? Json(nodes_ + node_->first + index, nodes_, pool_) : Json(); }
  std::string_view key(uint32_t index) const;  // of the member that operator[] gives: members lie in the order of their keys
  Json find(std::string_view name) const;      // the member of that name

 private:
  friend class JsonDocument;
  Json(const JsonNode* node, const JsonNode* nodes, const char* pool) : node_(node), nodes_(nodes), pool_(pool) {}
  const JsonNode* node_ = nullptr;
  const JsonNode* nodes_ = nullptr;
  const char* pool_ = nullptr;
};

class JsonDocument {
 public:
  static constexpr uint32_t kMaxDepth = 64;
  static constexpr uint32_t kMaxValues = 1u << 24;  // a vocabulary of 150,000 tokens and its merges take 600,000

  // Parses all of `text`.  `format`, naming `file` and the byte, for what is not JSON, malformed UTF-8, an object with one key
  // twice, more than kMaxDepth levels and anything behind the value; `limit` for more than 2 GiB or kMaxValues.
  static Result<JsonDocument> parse(std::string_view text, const char* file);
  Json root() const { return {&nodes_.back(), nodes_.data(), pool_.data()}; }

 private:
  std::vector<JsonNode> nodes_;  // children lie together; the root is the last
  std::vector<char> pool_;       // keys and strings
};

// Reading members; `where` names the object in messages ("tokenizer.json: model").

// A boolean; `fallback` when it is absent.  `format` for another type.
Status read_bool(Json object, const char* where, const char* name, bool fallback, bool* value);
// A boolean that must be there, as the `tokenizers` package demands it: reading a default into it would guess at the tokens.
Status need_bool(Json object, const char* where, const char* name, bool* value);
// A string, in the document's life; empty when absent.  `format` for another type.
Status read_string(Json object, const char* where, const char* name, std::string_view* value);
Status need_string(Json object, const char* where, const char* name, std::string_view* value);
Status need_array(Json object, const char* where, const char* name, Json* value);
// A token id: an integer in [0, 2^31).
Status to_token_id(Json value, const char* where, uint32_t* id);

// The text cut for a message: at most 40 bytes, at a character boundary.  For %.*s: first the length, then the pointer.
struct Shown {
  int length;
  const char* data;
};
Shown shown(std::string_view text);

}  // namespace tdl::text
