// The boundary of the C ABI: structs in and out by struct_size, errors out, and no exception past here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "kernels/core/status.h"
#include "treadle/status.h"

namespace tdl::abi {

inline constexpr uint32_t kLargestStruct = 1u << 16;  // a struct_size beyond this was never set

// Zeroes the caller's struct and sets its struct_size; does nothing for null or an impossible size.
inline void init_struct(void* out, size_t struct_size) noexcept {
  if (!out || struct_size < sizeof(uint32_t) || struct_size > kLargestStruct) return;
  std::memset(out, 0, struct_size);
  const uint32_t size = static_cast<uint32_t>(struct_size);
  std::memcpy(out, &size, sizeof size);
}

// Checks a struct_size that a caller gave for a struct whose name is `name`.
Status check_struct_size(uint32_t struct_size, const char* name) noexcept;

// Copies the caller's struct into `local`: a missing tail becomes zero, an unknown tail must be zero (version).  Null is an error.
Status read_bytes(const void* in, void* local, size_t local_size, const char* name) noexcept;
template <class T>
Status read_struct(const T* in, T* local, const char* name) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  return read_bytes(in, local, sizeof(T), name);
}

// Writes as much of `local` as the caller's struct has room for; its struct_size stays.  Needs a struct that was checked before.
template <class T>
void write_struct(T* out, const T& local) noexcept {
  const uint32_t size = out->struct_size;
  std::memcpy(out, &local, size < sizeof(T) ? size : sizeof(T));
  out->struct_size = size;
}

// A string argument: null is allowed with length 0 only.
Status check_string(const char* text, size_t length, const char* name) noexcept;

// Fills the caller's error, when there is one, and returns the code; success writes nothing.
tdl_status report(const Status& status, tdl_error* error) noexcept;

// Runs `body`, which returns Status, and reports; what it throws becomes out_of_memory or internal.
template <class Body>
tdl_status guarded(tdl_error* error, Body&& body) noexcept {
  try {
    return report(body(), error);
  } catch (const std::bad_alloc&) {
    return report(fail(Code::out_of_memory, "no host memory"), error);
  } catch (...) {
    return report(fail(Code::internal, "an unexpected exception inside the library"), error);
  }
}

}  // namespace tdl::abi
