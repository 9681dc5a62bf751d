#include "capi/src/boundary.h"

#include <cstdio>

namespace tdl::abi {

Status check_struct_size(uint32_t struct_size, const char* name) noexcept {
  if (struct_size < sizeof(uint32_t) || struct_size > kLargestStruct)
    return fail(Code::invalid_argument, "%s: struct_size %u is none; initialise it with %s_init", name, struct_size, name);
  return {};
}

Status read_bytes(const void* in, void* local, size_t local_size, const char* name) noexcept {
  if (!in) return fail(Code::invalid_argument, "%s is null", name);
  uint32_t struct_size;
  std::memcpy(&struct_size, in, sizeof struct_size);
  TDL_TRY(check_struct_size(struct_size, name));
  const auto* bytes = static_cast<const unsigned char*>(in);
  for (size_t i = local_size; i < struct_size; ++i) {
    if (bytes[i]) return fail(Code::version, "%s: a field at byte %zu is newer than this library", name, i);
  }
  std::memset(local, 0, local_size);
  std::memcpy(local, in, struct_size < local_size ? struct_size : local_size);
  return {};
}

Status check_string(const char* text, size_t length, const char* name) noexcept {
  if (!text && length) return fail(Code::invalid_argument, "%s is null with length %zu", name, length);
  return {};
}

tdl_status report(const Status& status, tdl_error* error) noexcept {
  if (status.ok()) return TDL_OK;
  const auto code = static_cast<tdl_status>(status.code());
  if (error && check_struct_size(error->struct_size, "tdl_error").ok()) {
    tdl_error local{};
    local.status = code;
    local.native_code = status.native_code();
    local.row = status.row();
    local.seq = status.seq();
    local.required = status.required();
    static_assert(sizeof local.message >= Status::kMessageBytes);
    std::memcpy(local.message, status.message(), std::strlen(status.message()) + 1);
    write_struct(error, local);
  }
  return code;
}

}  // namespace tdl::abi
