// Names and texts from outside: is it UTF-8, and how to show it in a message.
#pragma once
#include <string>
#include <string_view>

namespace tdl {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.  NUL is a character like others here.
bool is_utf8(std::string_view text);

// `text` in single quotes, for messages: control characters as '?', and only its beginning when it is longer than 100 bytes.
std::string quoted(std::string_view text);

}  // namespace tdl
