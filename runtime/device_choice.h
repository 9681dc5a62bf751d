// Which device an engine runs on: "auto", "cpu", "cuda", "cuda:N".
#pragma once
#include <memory>
#include <string>

#include "kernels/device.h"
#include "runtime/engine_config.h"

namespace tdl {

struct DeviceChoice {
  std::unique_ptr<Device> device;
  std::string note;  // for the log, when "auto" passed over a device; may be empty
};

// "auto" is the first GPU when there is one that can be used, else the CPU.  invalid_argument for a name that is none, unsupported for
// a device that this build or machine does not have.
Result<DeviceChoice> choose_device(const EngineConfig& config);

}  // namespace tdl
