#include "runtime/device_choice.h"

#include <algorithm>
#include <charconv>

namespace tdl {
namespace {

// The number in "cuda:N"; nothing when the name is not of that form.
bool cuda_number(const std::string& name, uint32_t* number) {
  if (name.size() <= 5 || name.size() > 11 || name.compare(0, 5, "cuda:") != 0) return false;
  const char *begin = name.data() + 5, *end = name.data() + name.size();
  const auto parsed = std::from_chars(begin, end, *number);
  return parsed.ec == std::errc() && parsed.ptr == end && *begin != '+' && *begin != '-';
}

}  // namespace

Result<DeviceChoice> choose_device(const EngineConfig& config) {
  const std::string& name = config.device;
  uint32_t ordinal = 0;
  const bool named = name == "cuda" || cuda_number(name, &ordinal), automatic = name.empty() || name == "auto";
  if (!named && !automatic && name != "cpu") return fail(Code::invalid_argument, "device '%.64s' is none of auto, cpu, cuda, cuda:N", name.c_str());
  DeviceChoice choice;
  if (named || automatic) {
    auto device = cuda_device(ordinal, config.callers_stream);
    if (device.ok()) {
      choice.device = std::move(device).value();
      return choice;
    }
    const Status why = device.status();
    // A host that gave a stream of a GPU wants that GPU.
    if (named || config.callers_stream || why.code() != Code::unsupported)
      return fail(why.code(), "device '%s': %s", named ? name.c_str() : "auto", why.message()).native(why.native_code());
    choice.note = std::string("device auto takes the CPU: ") + why.message();
  }
  if (config.callers_stream) return fail(Code::unsupported, "cuda_stream on device cpu");
  TDL_ASSIGN(choice.device, host_device(config.num_threads));
  return choice;
}

}  // namespace tdl
