// Which device an engine runs on: "auto", "cpu", "cuda", "cuda:N".
#pragma once
#include <memory>

#include "kernels/device.h"
#include "runtime/engine_config.h"

namespace tdl {

struct DeviceChoice {
  std::unique_ptr<Device> device;
  const char* note = nullptr;  // for the log, when "auto" passed over a device; static
};

// invalid_argument for a name that is none, unsupported for a device that this build or machine does not have.
Result<DeviceChoice> choose_device(const EngineConfig& config);

}  // namespace tdl
