// Hugging Face's tokenizers write their patterns for Oniguruma; we match with PCRE2.  What both read alike is copied, what they
// read differently is rewritten, and what is left is refused by name, so that no pattern quietly splits in other places:
//   \s \S        White_Space (PCRE2's own has U+180E too)
//   \v           U+000B alone
//   \p{Han}      the Script property (PCRE2 would take Script_Extensions)
//   [a[bc]]      a set in a set joins it (to PCRE2 the inner [ is a literal)
//   {,n}         {0,n}
//   ^ $          match at every line, always
// Oniguruma syntax: doc/RE of its sources, ONIG_SYNTAX_ONIGURUMA.
#pragma once
#include <string>
#include <string_view>

#include "kernels/core/status.h"

namespace tdl::text {

// The PCRE2 pattern (for UTF, UCP and MULTILINE, newline = LF) that matches what Oniguruma matches with `pattern`.  `unsupported`,
// naming the construct, for what has no rule here; `format` for malformed UTF-8, brackets that do not pair and the like, as far as
// PCRE2 would not say so itself.
Result<std::string> pcre2_pattern(std::string_view pattern);

}  // namespace tdl::text
