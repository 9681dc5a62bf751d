#include "kernels/core/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace tdl {

Status& Status::operator=(const Status& other) noexcept {
  code_ = other.code_;
  if (code_ != Code::ok) {
    native_code_ = other.native_code_;
    row_ = other.row_;
    seq_ = other.seq_;
    required_ = other.required_;
    std::memcpy(message_, other.message_, sizeof message_);
  }
  return *this;
}

Status fail(Code code, const char* format, ...) noexcept {
  Status status;
  status.code_ = code;
  status.native_code_ = 0;
  status.row_ = status.seq_ = -1;
  status.required_ = 0;
  va_list arguments;
  va_start(arguments, format);
  const int written = std::vsnprintf(status.message_, sizeof status.message_, format, arguments);
  va_end(arguments);
  if (written < 0) status.message_[0] = '\0';
  if (written >= static_cast<int>(sizeof status.message_)) {  // never leave half a character at the end
    size_t end = sizeof status.message_ - 1;
    while (end > 0 && (static_cast<unsigned char>(status.message_[end - 1]) & 0xC0) == 0x80) --end;
    if (end > 0 && static_cast<unsigned char>(status.message_[end - 1]) >= 0xC0) --end;
    status.message_[end] = '\0';
  }
  return status;
}

}  // namespace tdl
