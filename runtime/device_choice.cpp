#include "runtime/device_choice.h"

#include <algorithm>

namespace tdl {

Result<DeviceChoice> choose_device(const EngineConfig& config) {
  const std::string& name = config.device;
  const bool cuda_number = name.size() > 5 && name.size() < 12 && name.compare(0, 5, "cuda:") == 0 &&
                           std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (name == "cuda" || cuda_number) return fail(Code::unsupported, "device '%s': this build has no CUDA", name.c_str());
  if (!name.empty() && name != "auto" && name != "cpu")
    return fail(Code::invalid_argument, "device '%.64s' is none of auto, cpu, cuda, cuda:N", name.c_str());
  if (config.caller_stream) return fail(Code::unsupported, "cuda_stream on device cpu");
  DeviceChoice choice;
  TDL_ASSIGN(choice.device, host_device(config.num_threads));
  return choice;
}

}  // namespace tdl
