#include "runtime/text/pattern.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "runtime/text/json_text.h"
#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

constexpr uint32_t kMaxGroups = 200;  // nested; PCRE2's own limit is 250

constexpr const char* kSpaces =
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}";
constexpr const char* kNotSpaces =
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{84}\\x{86}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}\\x{202A}-\\x{"
    "202E}"
    "\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{10FFFF}";

// General categories, which the two name alike.  Cs never occurs in UTF-8.
constexpr std::string_view kCategories[] = {"C",  "Cc", "Cf", "Cn", "Co", "L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",
                                            "Mc", "Me", "Mn", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Pe", "Pf",
                                            "Pi", "Po", "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs"};
constexpr std::string_view kScripts[] = {"Arabic",  "Armenian", "Bengali",  "Cyrillic", "Devanagari", "Ethiopic",  "Georgian",
                                         "Greek",   "Gujarati", "Gurmukhi", "Han",      "Hangul",     "Hebrew",    "Hiragana",
                                         "Kannada", "Katakana", "Khmer",    "Lao",      "Latin",      "Malayalam", "Mongolian",
                                         "Myanmar", "Oriya",    "Sinhala",  "Tamil",    "Telugu",     "Thai",      "Tibetan"};

template <size_t n>
bool contains(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_ascii_alphanumeric(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> run() {
    if (valid_prefix(in_) != in_.size()) return fail(Code::format, "a pattern is not UTF-8");
    while (at_ < in_.size()) TDL_TRY(item());
    return std::move(out_);
  }

 private:
  struct Group {
    bool caseless, look_around;
  };

  Status refuse(std::string_view construct) const {
    const Shown name = shown(construct);
    return fail(Code::unsupported, "a pattern has \"%.*s\" at byte %zu, which is not supported", name.length, name.data, at_);
  }
  bool next_is(std::string_view text) const { return in_.substr(at_, text.size()) == text; }
  std::string_view rest(size_t length) const { return in_.substr(at_, length); }
  void copy(size_t length) {
    out_.append(rest(length));
    at_ += length;
  }
  void put_hex(uint32_t code_point) {
    char text[16];
    std::snprintf(text, sizeof text, "\\x{%X}", static_cast<unsigned>(code_point));
    out_ += text;
  }

  // One item outside of sets.
  Status item() {
    const char c = in_[at_];
    switch (c) {
      case '\\':
        return escape();
      case '[':
        return set();
      case '(':
        return group();
      case ')':
        atom_ = !groups_.back().look_around;  // what it means to repeat a look differs
        if (groups_.size() > 1) groups_.pop_back();
        break;
      case '|':
      case '^':
        atom_ = false;
        break;
      case '$':
      case '.':
        atom_ = c == '.';
        break;
      case '*':
      case '+':
      case '?':
        return quantifier();
      case '{':
        return interval();
      default:
        return literal();
    }
    letter_ = 0;
    copy(1);
    return {};
  }

  Status literal() {
    const Utf8Char next = first_char(in_.substr(at_));
    TDL_TRY(folds_alone(next.code_point));
    copy(next.length);
    atom_ = true;
    return {};
  }

  // Ignoring case, Oniguruma also compares folds of several characters (ss and U+00DF, fi and U+FB01), PCRE2 only single ones.
  Status folds_alone(uint32_t code_point) {
    const char before = letter_;
    letter_ = 0;
    if (!groups_.back().caseless) return {};
    if (code_point >= 0x80) return refuse("(?i) with letters beyond ASCII");
    letter_ = static_cast<char>(code_point >= 'A' && code_point <= 'Z' ? code_point + 32 : code_point);
    const bool pair = (before == 's' && (letter_ == 's' || letter_ == 't')) ||
                      (before == 'f' && (letter_ == 'f' || letter_ == 'i' || letter_ == 'l'));
    return pair ? refuse("(?i) with ss, st, ff, fi or fl") : Status();
  }

  // *, + and ?, with the lazy ? or the possessive + behind it, which both read alike.
  Status quantifier() {
    if (!atom_) return refuse(rest(1));
    copy(1);
    if (next_is("?") || next_is("+")) copy(1);
    return quantified();
  }

  Status quantified() {
    if (next_is("*") || next_is("+") || next_is("?") || next_is("{")) return refuse(rest(1));  // a quantifier of a quantifier
    atom_ = false;
    letter_ = 0;
    return {};
  }

  // {n}, {n,}, {n,m}, {,m}.  Behind it + means "repeat all that" to Oniguruma and "possessive" to PCRE2, and {n}? differs as well.
  Status interval() {
    const size_t end = in_.find('}', at_);
    if (end == std::string_view::npos || !atom_) return refuse("{");
    const std::string_view body = in_.substr(at_ + 1, end - at_ - 1);
    const size_t comma = body.find(',');
    const std::string_view low = body.substr(0, comma);
    const std::string_view high = comma == std::string_view::npos ? low : body.substr(comma + 1);
    const auto digits = [](std::string_view text) {
      return text.size() <= 4 && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (!digits(low) || !digits(high) || (low.empty() && high.empty())) return refuse(in_.substr(at_, end + 1 - at_));
    out_.append("{").append(low.empty() ? "0" : low);
    if (comma != std::string_view::npos) out_.append(",").append(high);
    out_ += '}';
    at_ = end + 1;
    if (next_is("?") && comma != std::string_view::npos && !low.empty() && !high.empty()) copy(1);
    return quantified();
  }

  Status group() {
    if (groups_.size() > kMaxGroups) return refuse("groups nested too deep");
    Group inner{groups_.back().caseless, false};
    size_t length = 1;
    if (next_is("(?")) {
      static constexpr std::string_view kOpenings[] = {"(?<=", "(?<!", "(?i:", "(?-i:", "(?:", "(?=", "(?!", "(?>"};
      const auto opening =
          std::find_if(std::begin(kOpenings), std::end(kOpenings), [&](std::string_view text) { return next_is(text); });
      if (opening == std::end(kOpenings)) return refuse(rest(4));
      if (*opening == "(?i:") inner.caseless = true;
      if (*opening == "(?-i:") inner.caseless = false;
      inner.look_around = opening->find_first_of("=!") != std::string_view::npos;
      length = opening->size();
    } else if (next_is("(*")) {
      return refuse("(*");  // a verb to PCRE2
    }
    copy(length);
    groups_.push_back(inner);
    atom_ = false;
    letter_ = 0;
    return {};
  }

  // Escapes that mean one character.  length 0: it is no such escape.
  Utf8Char escaped_char() const {
    const std::string_view text = in_.substr(at_);
    if (text.size() < 2) return {};
    const auto hex = [&](size_t from, size_t least, size_t most, uint32_t* value) -> size_t {
      size_t n = 0;
      for (*value = 0; n < most && from + n < text.size(); ++n) {
        const char c = text[from + n];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) break;
        *value = *value * 16 + static_cast<uint32_t>(digit);
      }
      return n < least ? 0 : n;
    };
    uint32_t value = 0;
    switch (const char c = text[1]) {
      case 't':
        return {0x09, 2};
      case 'n':
        return {0x0A, 2};
      case 'v':
        return {0x0B, 2};
      case 'f':
        return {0x0C, 2};
      case 'r':
        return {0x0D, 2};
      case 'a':
        return {0x07, 2};
      case 'e':
        return {0x1B, 2};
      case 'u':
        return hex(2, 4, 4, &value) == 4 && !(value >= 0xD800 && value < 0xE000) ? Utf8Char{value, 6} : Utf8Char{};
      case 'x': {
        if (text.size() > 2 && text[2] == '{') {
          const size_t n = hex(3, 1, 8, &value);
          const bool good =
              n != 0 && 3 + n < text.size() && text[3 + n] == '}' && value <= 0x10FFFF && !(value >= 0xD800 && value < 0xE000);
          return good ? Utf8Char{value, static_cast<uint32_t>(n) + 4} : Utf8Char{};
        }
        const size_t n = hex(2, 2, 2, &value);  // above 0x7F Oniguruma means a raw byte of UTF-8
        return n == 2 && value < 0x80 ? Utf8Char{value, 4} : Utf8Char{};
      }
      default: {
        const bool itself = static_cast<unsigned char>(c) < 0x80 && static_cast<unsigned char>(c) > 0x20 &&
                            !is_ascii_alphanumeric(static_cast<unsigned char>(c));
        return itself || c == ' ' ? Utf8Char{static_cast<unsigned char>(c), 2} : Utf8Char{};
      }
    }
  }

  // \p{..} and \P{..}, in or out of a set.
  Status property() {
    const size_t end = in_.find('}', at_);
    if (in_.substr(at_ + 2, 1) != "{" || end == std::string_view::npos) return refuse(rest(3));
    std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    const bool negated = !name.empty() && name[0] == '^';
    if (negated) name.remove_prefix(1);
    const bool script = contains(kScripts, name);
    const bool cased = name == "Lu" || name == "Ll" || name == "Lt";
    if ((!script && !contains(kCategories, name)) || (cased && groups_.back().caseless))
      return refuse(in_.substr(at_, end + 1 - at_));
    out_.append(rest(2)).append(negated ? "{^" : "{").append(script ? "sc:" : "").append(name).append("}");
    at_ = end + 1;
    return {};
  }

  // A backslash outside of sets.
  Status escape() {
    const std::string_view two = rest(2);
    if (two == "\\A" || two == "\\z" || two == "\\Z") {
      copy(2);
      atom_ = false;
      letter_ = 0;
      return {};
    }
    if (const Utf8Char c = escaped_char(); c.length != 0) {
      TDL_TRY(folds_alone(c.code_point));
      put_hex(c.code_point);
      at_ += c.length;
      atom_ = true;
      return {};
    }
    TDL_TRY(class_escape(two, true));
    atom_ = true;
    letter_ = 0;
    return {};
  }

  // Escapes that mean several characters; `alone`: outside of a set.
  Status class_escape(std::string_view two, bool alone) {
    if (two == "\\p" || two == "\\P") return property();
    if (two == "\\d" || two == "\\D") {  // Decimal_Number in both
      copy(2);
      return {};
    }
    if (two != "\\s" && two != "\\S") return refuse(two);
    if (alone)
      out_.append(two == "\\s" ? "[" : "[^").append(kSpaces).append("]");
    else
      out_.append(two == "\\s" ? kSpaces : kNotSpaces);
    at_ += 2;
    return {};
  }

  // [...].  Sets in it are dissolved into it; && and named [:sets:] are refused.
  Status set() {
    uint32_t depth = 0;
    bool first = true;  // nothing has been put in yet
    do {
      if (at_ >= in_.size()) return fail(Code::format, "a pattern has a set without an end");
      if (next_is("[")) {
        if (next_is("[:") || (depth > 0 && next_is("[^")) || depth == kMaxGroups) return refuse(rest(2));
        if (depth == 0) out_ += '[';
        ++depth;
        ++at_;
        if (depth == 1 && next_is("^")) copy(1);
        if (next_is("]")) return refuse("[]");
        first = true;
      } else if (next_is("]")) {
        if (--depth == 0) out_ += ']';
        ++at_;
      } else if (next_is("&&")) {
        return refuse("&&");
      } else {
        TDL_TRY(set_item(first));
        first = false;
      }
    } while (depth > 0);
    atom_ = true;
    letter_ = 0;
    return {};
  }

  // One character of a set, as \x{..} so that nothing of it can mean anything; length 0: none is there.
  Utf8Char set_char() const { return in_[at_] == '\\' ? escaped_char() : first_char(in_.substr(at_)); }

  // A character, a range or a class in a set.
  Status set_item(bool first) {
    const Utf8Char low = set_char();
    if (low.length == 0) {
      TDL_TRY(class_escape(rest(2), false));
      const bool range = next_is("-") && in_.substr(at_ + 1, 1) != "]";
      return range ? refuse("a range that starts with a class") : Status();
    }
    if (groups_.back().caseless && low.code_point >= 0x80) return refuse("(?i) with letters beyond ASCII");
    if (in_[at_] == '-' && !first && in_.substr(at_ + 1, 1) != "]") return refuse("- inside a set");
    at_ += low.length;
    put_hex(low.code_point);
    if (!next_is("-") || in_.substr(at_ + 1, 1) == "]") return {};
    ++at_;
    if (at_ >= in_.size() || in_[at_] == '[') return refuse("-[");
    const Utf8Char high = set_char();
    if (high.length == 0) return refuse("a range that ends with a class");
    if (high.code_point < low.code_point) return fail(Code::format, "a pattern has an empty range");
    if (groups_.back().caseless && high.code_point >= 0x80) return refuse("(?i) with letters beyond ASCII");
    out_ += '-';
    put_hex(high.code_point);
    at_ += high.length;
    return {};
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Group> groups_{{false, false}};  // around the place, the whole pattern first
  bool atom_ = false;                          // what comes before can be repeated
  char letter_ = 0;                            // ignoring case: the letter just before, in lower case
};

}  // namespace

Result<std::string> pcre2_pattern(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace tdl::text
