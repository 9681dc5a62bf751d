#include "runtime/text/json_text.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

constexpr size_t kMaxDepth = 64;

// Builds the document from the parser's events, so that duplicate keys and deep nesting stop it at once.
class Builder {
 public:
  Builder(Json* root, const char* file) : root_(root), file_(file) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(Json::number_integer_t value) { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return put(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // never sent for text
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto* object = open_.back()->get_ptr<Json::object_t*>();
    const auto [place, added] = object->try_emplace(std::move(name));
    if (!added) {
      const Shown key = shown(place->first);
      status_ = fail(Code::format, "%s: the key \"%.*s\" appears twice in an object", file_, key.length, key.data);
      return false;
    }
    member_ = &place->second;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    status_ = fail(Code::format, "%s: not JSON in UTF-8, near byte %zu", file_, position);
    return false;
  }

  Status status() const { return status_; }

 private:
  template <class T>
  bool put(T&& value) {
    place(Json(std::forward<T>(value)));
    return true;
  }

  Json* place(Json&& value) {
    if (open_.empty()) {
      *root_ = std::move(value);
      return root_;
    }
    if (auto* array = open_.back()->get_ptr<Json::array_t*>()) {
      array->push_back(std::move(value));
      return &array->back();
    }
    *member_ = std::move(value);
    return member_;
  }

  bool open(Json&& container) {
    if (open_.size() == kMaxDepth) {
      status_ = fail(Code::format, "%s: nested deeper than %zu levels", file_, kMaxDepth);
      return false;
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json* root_;
  const char* file_;
  std::vector<Json*> open_;  // the containers around the next value
  Json* member_ = nullptr;   // where the value of the last key goes
  Status status_;
};

Status wrong_type(const char* where, const char* name, const char* wanted) {
  return fail(Code::format, "%s: %s must be %s", where, name, wanted);
}

}  // namespace

void json_assertion(const char* condition) { throw std::logic_error(condition); }

Result<Json> parse_json(std::string_view text, const char* file) {
  Json root;
  Builder builder(&root, file);
  try {
    if (Json::sax_parse(text.begin(), text.end(), &builder)) return root;
  } catch (const std::logic_error&) {  // json_assertion
    return fail(Code::format, "%s: the JSON parser gave up", file);
  }
  if (builder.status().ok()) return fail(Code::format, "%s: not JSON", file);
  return builder.status();
}

const Json* find(const Json& object, const char* name) {
  const auto* members = object.get_ptr<const Json::object_t*>();
  if (members == nullptr) return nullptr;
  const auto found = members->find(name);
  return found == members->end() || found->second.is_null() ? nullptr : &found->second;
}

Status read_bool(const Json& object, const char* where, const char* name, bool fallback, bool* value) {
  *value = fallback;
  const Json* member = find(object, name);
  if (member == nullptr) return {};
  if (!member->is_boolean()) return wrong_type(where, name, "true or false");
  *value = *member->get_ptr<const bool*>();
  return {};
}

Status need_bool(const Json& object, const char* where, const char* name, bool* value) {
  if (find(object, name) == nullptr) return wrong_type(where, name, "true or false");
  return read_bool(object, where, name, false, value);
}

Status read_string(const Json& object, const char* where, const char* name, std::string_view* value) {
  *value = {};
  const Json* member = find(object, name);
  if (member == nullptr) return {};
  const auto* string = member->get_ptr<const std::string*>();
  if (string == nullptr) return wrong_type(where, name, "a string");
  *value = *string;
  return {};
}

Status need_string(const Json& object, const char* where, const char* name, std::string_view* value) {
  if (find(object, name) == nullptr) return wrong_type(where, name, "a string");
  return read_string(object, where, name, value);
}

Status need_array(const Json& object, const char* where, const char* name, const Json** value) {
  *value = find(object, name);
  if (*value == nullptr || !(*value)->is_array()) return wrong_type(where, name, "an array");
  return {};
}

Status to_token_id(const Json& value, const char* where, uint32_t* id) {
  const auto* number = value.get_ptr<const Json::number_unsigned_t*>();
  if (number == nullptr || *number > 0x7FFFFFFFu) return fail(Code::format, "%s: a token id must be an integer below 2^31", where);
  *id = static_cast<uint32_t>(*number);
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
