// Filling the weights' memory: straight into it where the host sees it, else through a ring of pinned parts.
#pragma once
#include <cstdint>
#include <functional>

#include "kernels/device.h"
#include "runtime/load/safetensors.h"
#include "runtime/model/weights.h"

namespace tdl {

inline constexpr uint32_t kLoadParts = 4;                  // parts of the ring: one is read from the file while others are copied
inline constexpr uint64_t kLoadPartBytes = 8ull << 20;

// What the ring takes of pinned host memory while an engine loads.
uint64_t load_ring_bytes(const Device& device);

// Fills plan.bytes() of device memory at `base` and waits until all is there.  `checkpoint` null: random weights.  `progress` gets the
// fraction done and returns true to stop (cancelled).  Errors name the tensor.
Status load_weights(const WeightPlan& plan, const Checkpoint* checkpoint, Device& device, Stream& stream, uint64_t base,
                    const std::function<bool(float)>& progress);

}  // namespace tdl
