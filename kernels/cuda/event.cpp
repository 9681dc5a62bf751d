#include "kernels/cuda/event.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "kernels/core/os.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/device.h"

namespace tdl::cuda {
namespace {

// A decode step is waited for without sleeping, which costs tens of microseconds; a long prefill does not burn a core.
constexpr uint64_t kSpinNs = 10'000'000;
constexpr uint64_t kSleepNs = 100'000;

}  // namespace

CudaEvent::~CudaEvent() {
  const Current current = device_.enter();
  cudaEventDestroy(native_);
  cudaGetLastError();
}

Result<bool> CudaEvent::done() const {
  const Current current = device_.enter();
  const cudaError_t error = cudaEventQuery(native_);
  if (error == cudaErrorNotReady) return false;
  TDL_TRY(check(error, "cudaEventQuery"));
  return true;
}

Status CudaEvent::wait(uint64_t timeout_ns) const {
  const Current current = device_.enter();
  const uint64_t begin = os::now_ns();
  for (;;) {
    const cudaError_t error = cudaEventQuery(native_);
    if (error != cudaErrorNotReady) return check(error, "cudaEventQuery");
    const uint64_t passed = os::now_ns() - begin;
    if (passed >= timeout_ns) return fail(Code::pending, "not done yet");
    if (passed >= kSpinNs) std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(kSleepNs, timeout_ns - passed)));
  }
}

}  // namespace tdl::cuda
