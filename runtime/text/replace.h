// Replacing one string by another, bounded: the contents come from files, and each step can multiply what the one before it made.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/core/status.h"

namespace tdl::text {

constexpr size_t kMaxReplacedBytes = 0x7FFFFFFF;

// Every `pattern` in *text, which is not empty, left to right, becomes `content`.  `limit`, naming `where`, when *text would become
// longer than kMaxReplacedBytes; it is unchanged then.
Status replace_all(std::string_view pattern, std::string_view content, const char* where, std::string* text);

Status too_long(const char* where);

}  // namespace tdl::text
