#include "runtime/load/json.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>

// nlohmann checks its own invariants with JSON_ASSERT, which would end the process.  Here it throws instead, and parse() catches.
// No noexcept function is in the way of such a throw: only the parser is used, never nlohmann's own value type.
namespace {
[[noreturn]] void parser_broken(const char* condition) { throw std::logic_error(condition); }
}  // namespace
#define JSON_ASSERT(condition) ((condition) ? static_cast<void>(0) : parser_broken("the parser's own check failed: " #condition))
#include <nlohmann/json.hpp>

#include "runtime/load/utf8.h"

namespace tdl {
namespace {

// Walks the text and leaves behind how far the parser has come, which nlohmann does not tell its handler.  Being ours and unnamed
// elsewhere, it also keeps the parser built here apart from any other in the program.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// nlohmann's reason without its prefix ("... while parsing value - ") and without the bytes of the text that it repeats.
std::string reason_of(const char* what) {
  std::string reason = what;
  if (const size_t dash = reason.find(" - "); dash != std::string::npos) reason.erase(0, dash + 3);
  else if (const size_t bracket = reason.find("] "); bracket != std::string::npos) reason.erase(0, bracket + 2);
  if (const size_t last = reason.find("; last read"); last != std::string::npos) reason.erase(last);
  if (const size_t overflow = reason.find(" parsing '"); overflow != std::string::npos) reason.erase(overflow);
  return reason;
}

// nlohmann's SAX events build the arrays.  Values wait in `open_` until the array or object that holds them ends, and then move to
// `nodes_` together.
class Builder {
 public:
  Builder(std::string_view text, std::string_view file, uint32_t most_values, std::vector<JsonNode>* nodes, std::vector<char>* pool)
      : begin_(text.data()), reached_(text.data()), file_(file), values_left_(most_values), nodes_(*nodes), pool_(*pool) {}

  const char** reached() { return &reached_; }
  const Status& status() const { return status_; }
  bool refuse(const char* reason) {
    status_ = fail(Code::format, "%s: bad JSON at byte %u: %s", file_.c_str(), position(), reason);
    return false;
  }
  // Puts the root in its place, when everything was read.
  void finish() { nodes_.push_back(open_.front()); }

  bool null() { return add(JsonKind::null); }
  bool boolean(bool value) {
    if (!add(JsonKind::boolean)) return false;
    open_.back().boolean = value;
    return true;
  }
  bool number_integer(int64_t value) { return add_number(JsonKind::negative, static_cast<double>(value)); }
  bool number_float(double value, const std::string&) { return add_number(JsonKind::real, value); }
  bool number_unsigned(uint64_t value) {
    if (!add(JsonKind::natural)) return false;
    open_.back().natural = value;
    return true;
  }
  bool binary(nlohmann::json::binary_t&) { return refuse("binary data"); }
  bool string(const std::string& value) {
    if (!add(JsonKind::string)) return false;
    open_.back().span.first = static_cast<uint32_t>(pool_.size());
    open_.back().span.count = static_cast<uint32_t>(value.size());
    pool_.insert(pool_.end(), value.begin(), value.end());
    return true;
  }
  bool key(const std::string& value) {
    member_.key = static_cast<uint32_t>(pool_.size());
    member_.key_bytes = static_cast<uint32_t>(value.size());
    member_.position = position();
    pool_.insert(pool_.end(), value.begin(), value.end());
    return true;
  }
  bool start_object(size_t) { return start(JsonKind::object); }
  bool start_array(size_t) { return start(JsonKind::array); }
  bool end_array() { return end(); }
  bool end_object() {
    const auto members = open_.begin() + static_cast<std::ptrdiff_t>(levels_.back() + 1);
    const auto before = [this](const JsonNode& a, const JsonNode& b) {
      const int order = key_of(a).compare(key_of(b));
      return order < 0 || (order == 0 && a.position < b.position);
    };
    if (!std::is_sorted(members, open_.end(), before)) std::sort(members, open_.end(), before);
    const auto same_key = [this](const JsonNode& a, const JsonNode& b) { return key_of(a) == key_of(b); };
    const auto twice = std::adjacent_find(members, open_.end(), same_key);
    if (twice == open_.end()) return end();
    status_ = fail(Code::format, "%s: bad JSON at byte %u: the key %s is there twice in one object", file_.c_str(),
                   (twice + 1)->position, quoted(key_of(*twice)).c_str());
    return false;
  }
  bool parse_error(size_t, const std::string&, const std::exception& error) { return refuse(reason_of(error.what()).c_str()); }

 private:
  uint32_t position() const { return static_cast<uint32_t>(reached_ - begin_); }
  std::string_view key_of(const JsonNode& node) const { return {pool_.data() + node.key, node.key_bytes}; }

  bool add(JsonKind kind) {
    if (values_left_-- == 0) return refuse("too many values");
    const bool in_object = !levels_.empty() && open_[levels_.back()].kind == JsonKind::object;
    open_.push_back(in_object ? member_ : JsonNode());
    if (!in_object) open_.back().position = position();
    open_.back().kind = kind;
    return true;
  }
  bool add_number(JsonKind kind, double value) {
    if (!add(kind)) return false;
    open_.back().number = value;
    return true;
  }
  bool start(JsonKind kind) {
    if (levels_.size() == JsonDocument::kMostDepth) return refuse("nested too deep");
    if (!add(kind)) return false;
    levels_.push_back(static_cast<uint32_t>(open_.size() - 1));
    return true;
  }
  bool end() {
    const uint32_t parent = levels_.back();
    levels_.pop_back();
    open_[parent].span.first = static_cast<uint32_t>(nodes_.size());
    open_[parent].span.count = static_cast<uint32_t>(open_.size() - parent - 1);
    nodes_.insert(nodes_.end(), open_.begin() + static_cast<std::ptrdiff_t>(parent + 1), open_.end());
    open_.resize(parent + 1);
    return true;
  }

  const char* begin_;
  const char* reached_;           // the byte after the last one that the parser took
  std::string file_;
  uint32_t values_left_;
  Status status_;
  std::vector<JsonNode>& nodes_;
  std::vector<char>& pool_;
  std::vector<JsonNode> open_;
  std::vector<uint32_t> levels_;  // of the arrays and objects not yet ended: their places in open_
  JsonNode member_;               // the key of the value that comes next
};

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string_view file, uint32_t most_values) {
  const std::string name = quoted(file);
  if (text.size() > UINT32_MAX) return fail(Code::format, "%s: more than 4 GiB of JSON", name.c_str());
  // nlohmann takes NUL for the end of the text, and would not look at what comes after it.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    return fail(Code::format, "%s: bad JSON at byte %zu: NUL", name.c_str(), nul);
  JsonDocument document;
  Builder builder(text, name, most_values, &document.nodes_, &document.text_);
  try {
    const Cursor begin(text.data(), builder.reached()), end(text.data() + text.size(), builder.reached());
    if (nlohmann::json::sax_parse(begin, end, &builder)) {
      builder.finish();
      return document;
    }
    if (builder.status().ok()) builder.refuse("not a JSON text");
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    builder.refuse(error.what());
  }
  return builder.status();
}

JsonValue JsonDocument::root() const {
  JsonValue value;
  if (nodes_.empty()) return value;
  value.node_ = &nodes_.back();
  value.nodes_ = nodes_.data();
  value.text_ = text_.data();
  return value;
}

double JsonValue::number() const {
  if (is(JsonKind::natural)) return static_cast<double>(node_->natural);
  return is(JsonKind::negative) || is(JsonKind::real) ? node_->number : 0;
}

std::string_view JsonValue::text() const {
  return is(JsonKind::string) ? std::string_view(text_ + node_->span.first, node_->span.count) : std::string_view();
}

uint32_t JsonValue::size() const { return is(JsonKind::array) || is(JsonKind::object) ? node_->span.count : 0; }

JsonValue JsonValue::operator[](uint32_t index) const {
  JsonValue value;
  if (index >= size()) return value;
  value = *this;
  value.node_ = nodes_ + node_->span.first + index;
  return value;
}

std::string_view JsonValue::key(uint32_t index) const {
  if (!is(JsonKind::object) || index >= size()) return {};
  const JsonNode& member = nodes_[node_->span.first + index];
  return {text_ + member.key, member.key_bytes};
}

JsonValue JsonValue::find(std::string_view key) const {
  if (!is(JsonKind::object)) return {};
  uint32_t first = 0, last = size();
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    if (this->key(middle) < key) first = middle + 1;
    else last = middle;
  }
  return first < size() && this->key(first) == key ? (*this)[first] : JsonValue();
}

}  // namespace tdl
