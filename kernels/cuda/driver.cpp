#include "kernels/cuda/driver.h"

#include "kernels/cuda/check.h"

namespace tdl::cuda {
namespace {

template <class Function>
Status find(const char* name, Function* function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  TDL_TRY(check(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found), name));
  if (found != cudaDriverEntryPointSuccess || !address) return fail(Code::unsupported, "the NVIDIA driver has no %s", name);
  *function = reinterpret_cast<Function>(address);
  return {};
}

}  // namespace

Result<Driver> Driver::open() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
    cudaGetLastError();
    return fail(Code::unsupported, "there is no NVIDIA driver").native(cudaErrorInsufficientDriver);
  }
  Driver driver{};
  TDL_TRY(find("cuCtxGetCurrent", &driver.ctx_get_current));
  TDL_TRY(find("cuCtxSetCurrent", &driver.ctx_set_current));
  TDL_TRY(find("cuStreamGetCtx", &driver.stream_get_ctx));
  TDL_TRY(find("cuCtxGetDevice", &driver.ctx_get_device));
  return driver;
}

}  // namespace tdl::cuda
