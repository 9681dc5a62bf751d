#include "runtime/text/metaspace.h"

#include <string_view>

#include "runtime/text/utf8.h"

namespace tdl::text {

Result<Metaspace> Metaspace::read(Json json, const char* where) {
  Metaspace result;
  std::string_view text;
  TDL_TRY(need_string(json, where, "replacement", &text));
  if (text.empty() || first_char(text).length != text.size())
    return fail(Code::format, "%s.replacement of Metaspace must be one character", where);
  result.replacement = text;
  TDL_TRY(read_bool(json, where, "split", true, &result.split));

  bool prefix = true;
  TDL_TRY(read_bool(json, where, "add_prefix_space", true, &prefix));
  TDL_TRY(read_string(json, where, "prepend_scheme", &text));
  if (!json.find("prepend_scheme")) text = prefix ? "always" : "never";
  if (text == "always")
    result.prepend = Prepend::always;
  else if (text == "first")
    result.prepend = Prepend::first;
  else if (text == "never")
    result.prepend = Prepend::never;
  else
    return fail(Code::unsupported, "%s.prepend_scheme \"%.*s\" is not supported", where, shown(text).length, shown(text).data);
  if (!prefix && result.prepend != Prepend::never)
    return fail(Code::format, "%s: add_prefix_space and prepend_scheme contradict each other", where);
  return result;
}

}  // namespace tdl::text
