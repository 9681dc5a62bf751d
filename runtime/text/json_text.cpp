#include "runtime/text/json_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>

// nlohmann checks its own invariants with JSON_ASSERT, which would end the process; here it throws, and parse() catches.
namespace {
[[noreturn]] void assertion_failed(const char* condition) {
  throw std::logic_error(condition);
}
}  // namespace
#define JSON_ASSERT(condition) ((condition) ? static_cast<void>(0) : assertion_failed(#condition))
#include <nlohmann/json.hpp>

#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

// An iterator type of our own keeps the parser that is compiled here, with its JSON_ASSERT, apart from any other in the program.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Cursor(const char* at) : at_(at) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    ++at_;
    return *this;
  }
  Cursor operator++(int) { return Cursor(at_++); }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
};

// Turns the parser's events into nodes.  Values wait in `open_` until the array or object around them ends; then they move
// together.
class Builder {
 public:
  Builder(const char* file, std::vector<JsonNode>* nodes, std::vector<char>* pool) : file_(file), nodes_(*nodes), pool_(*pool) {}

  bool null() { return add(JsonKind::null); }
  bool boolean(bool value) {
    if (!add(JsonKind::boolean)) return false;
    open_.back().boolean = value;
    return true;
  }
  bool number_integer(int64_t value) { return number_float(static_cast<double>(value), {}); }
  bool number_unsigned(uint64_t value) {
    if (!add(JsonKind::natural)) return false;
    open_.back().natural = value;
    return true;
  }
  bool number_float(double value, const std::string&) {
    if (!add(JsonKind::number)) return false;
    open_.back().number = value;
    return true;
  }
  bool string(const std::string& value) {
    if (!add(JsonKind::string)) return false;
    open_.back().first = keep(value);
    open_.back().count = static_cast<uint32_t>(value.size());
    return true;
  }
  bool binary(const std::vector<uint8_t>&) { return false; }  // never sent for text
  bool start_array(size_t) { return start(JsonKind::array); }
  bool start_object(size_t) { return start(JsonKind::object); }
  bool end_array() { return end(); }
  bool key(const std::string& name) {
    key_first_ = keep(name);
    key_bytes_ = static_cast<uint32_t>(name.size());
    return true;
  }
  bool end_object() {
    const auto begin = open_.begin() + starts_.back() + 1;
    std::sort(begin, open_.end(), [&](const JsonNode& a, const JsonNode& b) { return name_of(a) < name_of(b); });
    const auto twice =
        std::adjacent_find(begin, open_.end(), [&](const JsonNode& a, const JsonNode& b) { return name_of(a) == name_of(b); });
    if (twice == open_.end()) return end();
    const Shown name = shown(name_of(*twice));
    status_ = fail(Code::format, "%s: the key \"%.*s\" appears twice in an object", file_, name.length, name.data);
    return false;
  }
  bool parse_error(size_t position, const std::string&, const std::exception&) {
    status_ = fail(Code::format, "%s: not JSON in UTF-8, near byte %zu", file_, position);
    return false;
  }

  const Status& status() const { return status_; }
  void finish() { nodes_.push_back(open_.front()); }

 private:
  std::string_view name_of(const JsonNode& node) const { return {pool_.data() + node.key_first, node.key_bytes}; }
  uint32_t keep(const std::string& text) {
    const auto first = static_cast<uint32_t>(pool_.size());
    pool_.insert(pool_.end(), text.begin(), text.end());
    return first;
  }
  bool add(JsonKind kind) {
    if (left_-- == 0) {
      status_ = fail(Code::limit, "%s: more than %u values", file_, JsonDocument::kMaxValues);
      return false;
    }
    JsonNode node;
    node.kind = kind;
    node.key_first = key_first_;
    node.key_bytes = key_bytes_;
    open_.push_back(node);
    return true;
  }
  bool start(JsonKind kind) {
    if (starts_.size() == JsonDocument::kMaxDepth) {
      status_ = fail(Code::format, "%s: nested deeper than %u levels", file_, JsonDocument::kMaxDepth);
      return false;
    }
    starts_.push_back(static_cast<uint32_t>(open_.size()));
    return add(kind);
  }
  bool end() {
    const auto children = open_.begin() + starts_.back() + 1;
    JsonNode& container = open_[starts_.back()];
    container.first = static_cast<uint32_t>(nodes_.size());
    container.count = static_cast<uint32_t>(open_.end() - children);
    nodes_.insert(nodes_.end(), children, open_.end());
    open_.erase(children, open_.end());
    starts_.pop_back();
    return true;
  }

  const char* file_;
  std::vector<JsonNode>& nodes_;
  std::vector<char>& pool_;
  std::vector<JsonNode> open_;
  std::vector<uint32_t> starts_;  // places in open_ of the containers that have not ended
  uint32_t key_first_ = 0, key_bytes_ = 0;
  uint32_t left_ = JsonDocument::kMaxValues;
  Status status_;
};

Status wrong_type(const char* where, const char* name, const char* wanted) {
  return fail(Code::format, "%s: %s must be %s", where, name, wanted);
}

}  // namespace

std::string_view Json::key(uint32_t index) const {
  if (!is(JsonKind::object) || index >= node_->count) return {};
  const JsonNode& member = nodes_[node_->first + index];
  return {pool_ + member.key_first, member.key_bytes};
}

Json Json::find(std::string_view name) const {
  if (!is(JsonKind::object)) return {};
  const JsonNode* begin = nodes_ + node_->first;
  const JsonNode* end = begin + node_->count;
  const auto name_of = [&](const JsonNode& node) { return std::string_view(pool_ + node.key_first, node.key_bytes); };
  const JsonNode* found =
      std::lower_bound(begin, end, name, [&](const JsonNode& node, std::string_view wanted) { return name_of(node) < wanted; });
  return found != end && name_of(*found) == name ? Json(found, nodes_, pool_) : Json();
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, const char* file) {
  // Then every offset fits 32 bits: strings do not grow when their escapes are read.
  if (text.size() > 0x7FFFFFFF) return fail(Code::limit, "%s: larger than 2 GiB", file);
  // nlohmann takes a zero byte for the end of the text; JSON has no place for one.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    return fail(Code::format, "%s: not JSON in UTF-8, near byte %zu", file, zero);
  JsonDocument document;
  Builder builder(file, &document.nodes_, &document.pool_);
  bool parsed = false;
  try {
    parsed = nlohmann::json::sax_parse(Cursor(text.data()), Cursor(text.data() + text.size()), &builder);
  } catch (const std::logic_error&) {
    return fail(Code::format, "%s: the JSON parser gave up", file);
  }
  if (!builder.status().ok()) return builder.status();
  if (!parsed) return fail(Code::format, "%s: not JSON", file);
  builder.finish();
  return document;
}

Status read_bool(Json object, const char* where, const char* name, bool fallback, bool* value) {
  *value = fallback;
  const Json member = object.find(name);
  if (!member) return {};
  if (!member.is(JsonKind::boolean)) return wrong_type(where, name, "true or false");
  *value = member.boolean();
  return {};
}

Status need_bool(Json object, const char* where, const char* name, bool* value) {
  if (!object.find(name)) return wrong_type(where, name, "true or false");
  return read_bool(object, where, name, false, value);
}

Status read_string(Json object, const char* where, const char* name, std::string_view* value) {
  *value = {};
  const Json member = object.find(name);
  if (!member) return {};
  if (!member.is(JsonKind::string)) return wrong_type(where, name, "a string");
  *value = member.text();
  return {};
}

Status need_string(Json object, const char* where, const char* name, std::string_view* value) {
  if (!object.find(name)) return wrong_type(where, name, "a string");
  return read_string(object, where, name, value);
}

Status need_array(Json object, const char* where, const char* name, Json* value) {
  *value = object.find(name);
  return value->is(JsonKind::array) ? Status() : wrong_type(where, name, "an array");
}

Status to_token_id(Json value, const char* where, uint32_t* id) {
  if (!value.is(JsonKind::natural) || value.natural() > 0x7FFFFFFFu)
    return fail(Code::format, "%s: a token id must be an integer below 2^31", where);
  *id = static_cast<uint32_t>(value.natural());
  return {};
}

Shown shown(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    const uint32_t next = first_char(text.substr(length)).length;
    if (next == 0 || length + next > 40) break;
    length += next;
  }
  return {static_cast<int>(length), text.data()};
}

}  // namespace tdl::text
