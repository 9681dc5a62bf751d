#include "runtime/text/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "runtime/text/replace.h"
#include "runtime/text/utf8.h"

namespace tdl::text {
namespace {

constexpr const char* kWhere = "tokenizer.json: normalizer";

struct Form {
  bool compose, compatible;
};

// Below U+0300 nothing combines, and all of it is its own NFC.  Such characters start with a byte below 0xCC.
bool surely_nfc(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}
bool surely_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Appends the normal form of well-formed `text`.  utf8proc gives the tables and composes; its own reordering of combining marks is
// quadratic in the length of a run of them, which a text can choose, so the marks are sorted here.
Status append_normal(std::string_view text, Form form, std::string* out) {
  const int direction = form.compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;  // to decompose_char both mean "decompose"
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | direction | (form.compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> code_points;
  code_points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Char next = first_char(text.substr(at));
    at += next.length;
    utf8proc_int32_t parts[32];  // the longest decomposition has 18
    int last_boundary_class = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(next.code_point), parts, 32, options, &last_boundary_class);
    if (count < 0 || count > 32) return fail(Code::internal, "U+%04X has no decomposition", static_cast<unsigned>(next.code_point));
    code_points.insert(code_points.end(), parts, parts + count);
  }
  const auto combining_class = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (auto start = code_points.begin(); start != code_points.end();) {
    const auto mark = [&](utf8proc_int32_t c) { return combining_class(c) != 0; };
    start = std::find_if(start, code_points.end(), mark);
    const auto end = std::find_if_not(start, code_points.end(), mark);
    if (end - start > 1)
      std::stable_sort(start, end, [&](utf8proc_int32_t a, utf8proc_int32_t b) { return combining_class(a) < combining_class(b); });
    start = end;
  }
  auto count = static_cast<utf8proc_ssize_t>(code_points.size());
  if (form.compose && count > 0) count = utf8proc_normalize_utf32(code_points.data(), count, options);
  if (count < 0) return fail(Code::internal, "utf8proc: %s", utf8proc_errmsg(count));
  for (utf8proc_ssize_t i = 0; i < count; ++i) append_utf8(out, static_cast<uint32_t>(code_points[static_cast<size_t>(i)]));
  return {};
}

Status normal_form(Form form, std::string* text) {
  if (surely_ascii(*text) || (form.compose && !form.compatible && surely_nfc(*text))) return {};
  // U+11A7 composes with nothing, but utf8proc 2.8 takes it for a trailing consonant and loses it (it counts those from U+11A7,
  // where the first is U+11A8), so the text is also cut there.
  constexpr std::string_view kNoConsonant = "\xE1\x86\xA7";
  const std::string_view in = *text;
  std::string out;
  out.reserve(in.size());
  for (size_t at = 0; at < in.size();) {
    std::string_view run = in.substr(at, valid_prefix(in.substr(at)));
    at += run.size();
    for (size_t stop; (stop = run.find(kNoConsonant)) != std::string_view::npos; run.remove_prefix(stop + kNoConsonant.size())) {
      TDL_TRY(append_normal(run.substr(0, stop), form, &out));
      out.append(kNoConsonant);
    }
    TDL_TRY(append_normal(run, form, &out));
    const size_t malformed = malformed_prefix(in.substr(at));
    out.append(in.substr(at, malformed));
    at += malformed;
  }
  *text = std::move(out);
  return {};
}

void lowercase(std::string* text) {
  std::string out;
  out.reserve(text->size());
  const std::string_view in = *text;
  for (size_t at = 0; at < in.size();) {
    const Utf8Char next = first_char(in.substr(at));
    if (next.length == 0) {
      out.push_back(in[at++]);
      continue;
    }
    at += next.length;
    if (next.code_point == 0x130)
      out.append("i\xCC\x87");  // the only character whose lower case is two: i, dot above
    else
      append_utf8(&out, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(next.code_point))));
  }
  *text = std::move(out);
}

}  // namespace

Result<Normalizer> Normalizer::read(Json json) {
  Normalizer result;
  if (json) TDL_TRY(result.read_step(json));
  return result;
}

Status Normalizer::read_step(Json json) {
  std::string_view type, text;
  TDL_TRY(need_string(json, kWhere, "type", &type));
  if (type == "Sequence") {
    Json list;
    TDL_TRY(need_array(json, kWhere, "normalizers", &list));
    for (uint32_t i = 0; i < list.size(); ++i) TDL_TRY(read_step(list[i]));  // as deep as the JSON, which is bounded
    return {};
  }
  if (steps_.size() == kMaxSteps) return fail(Code::unsupported, "%s: more than %u steps", kWhere, kMaxSteps);
  static constexpr std::pair<std::string_view, Kind> kPlain[] = {
      {"NFC", Kind::nfc}, {"NFD", Kind::nfd}, {"NFKC", Kind::nfkc}, {"NFKD", Kind::nfkd}, {"Lowercase", Kind::lowercase}};
  for (const auto& [name, kind] : kPlain) {
    if (type != name) continue;
    steps_.push_back({kind, {}, {}});
    return {};
  }
  if (type == "Prepend") {
    TDL_TRY(need_string(json, kWhere, "prepend", &text));
    steps_.push_back({Kind::prepend, {}, std::string(text)});
    return {};
  }
  const Json pattern = json.find("pattern");
  if (type == "Replace" && pattern.find("String")) {
    Step step{Kind::replace, {}, {}};
    TDL_TRY(read_string(pattern, kWhere, "String", &text));
    if (text.empty()) return fail(Code::unsupported, "%s: Replace of nothing is not supported", kWhere);
    step.pattern = text;
    TDL_TRY(need_string(json, kWhere, "content", &text));
    step.content = text;
    steps_.push_back(std::move(step));
    return {};
  }
  const Shown name = shown(type);
  return fail(Code::unsupported, "%s type \"%.*s\"%s is not supported", kWhere, name.length, name.data,
              type == "Replace" ? " of a Regex" : "");
}

Status Normalizer::apply(std::string* text) const {
  for (const Step& step : steps_) {
    if (text->empty()) return {};
    switch (step.kind) {
      case Kind::nfc:
        TDL_TRY(normal_form({true, false}, text));
        break;
      case Kind::nfd:
        TDL_TRY(normal_form({false, false}, text));
        break;
      case Kind::nfkc:
        TDL_TRY(normal_form({true, true}, text));
        break;
      case Kind::nfkd:
        TDL_TRY(normal_form({false, true}, text));
        break;
      case Kind::lowercase:
        lowercase(text);
        break;
      case Kind::prepend:
        text->insert(0, step.content);
        break;
      case Kind::replace:
        TDL_TRY(replace_all(step.pattern, step.content, kWhere, text));
        break;
    }
    if (text->size() > kMaxReplacedBytes) return too_long(kWhere);
  }
  return {};
}

}  // namespace tdl::text
