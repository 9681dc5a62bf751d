// Names and versions.
#include "capi/src/boundary.h"
#include "treadle/treadle.h"

namespace {

struct NamedStatus {
  tdl_status status;
  tdl::Code code;
  const char* name;
};

constexpr NamedStatus kStatuses[] = {
    {TDL_OK, tdl::Code::ok, "TDL_OK"},
    {TDL_PENDING, tdl::Code::pending, "TDL_PENDING"},
    {TDL_E_INVALID_ARGUMENT, tdl::Code::invalid_argument, "TDL_E_INVALID_ARGUMENT"},
    {TDL_E_RANGE, tdl::Code::range, "TDL_E_RANGE"},
    {TDL_E_STATE, tdl::Code::state, "TDL_E_STATE"},
    {TDL_E_CONFLICT, tdl::Code::conflict, "TDL_E_CONFLICT"},
    {TDL_E_LIMIT, tdl::Code::limit, "TDL_E_LIMIT"},
    {TDL_E_NOT_FOUND, tdl::Code::not_found, "TDL_E_NOT_FOUND"},
    {TDL_E_BUSY, tdl::Code::busy, "TDL_E_BUSY"},
    {TDL_E_UNSUPPORTED, tdl::Code::unsupported, "TDL_E_UNSUPPORTED"},
    {TDL_E_IO, tdl::Code::io, "TDL_E_IO"},
    {TDL_E_FORMAT, tdl::Code::format, "TDL_E_FORMAT"},
    {TDL_E_OUT_OF_MEMORY, tdl::Code::out_of_memory, "TDL_E_OUT_OF_MEMORY"},
    {TDL_E_DEVICE, tdl::Code::device, "TDL_E_DEVICE"},
    {TDL_E_DEVICE_LOST, tdl::Code::device_lost, "TDL_E_DEVICE_LOST"},
    {TDL_E_BUFFER_TOO_SMALL, tdl::Code::buffer_too_small, "TDL_E_BUFFER_TOO_SMALL"},
    {TDL_E_VERSION, tdl::Code::version, "TDL_E_VERSION"},
    {TDL_E_CANCELLED, tdl::Code::cancelled, "TDL_E_CANCELLED"},
    {TDL_E_INTERNAL, tdl::Code::internal, "TDL_E_INTERNAL"},
    {TDL_E_NUMERIC, tdl::Code::numeric, "TDL_E_NUMERIC"},
};

constexpr bool values_agree() {
  for (const NamedStatus& s : kStatuses) {
    if (s.status != static_cast<tdl_status>(s.code)) return false;
  }
  return true;
}
static_assert(values_agree());

}  // namespace

extern "C" {

uint32_t tdl_api_version(void) { return TDL_API_VERSION; }

const char* tdl_status_name(tdl_status status) {
  for (const NamedStatus& s : kStatuses) {
    if (s.status == status) return s.name;
  }
  return "TDL_E_?";
}

void tdl_error_init(tdl_error* error, size_t struct_size) { tdl::abi::init_struct(error, struct_size); }

}  // extern "C"
