// The driver: found at run time through the CUDA runtime, so that a program with this library starts without one.
#pragma once
#include <cuda.h>

#include "kernels/core/status.h"

namespace tdl::cuda {

struct Driver {
  CUresult (*ctx_get_current)(CUcontext*);
  CUresult (*ctx_set_current)(CUcontext);
  CUresult (*stream_get_ctx)(CUstream, CUcontext*);
  CUresult (*ctx_get_device)(CUdevice*);

  // unsupported when there is no driver, or too old a one.
  static Result<Driver> open();
};

// Makes a context current for a scope and puts back what was; the host may use other contexts and devices on the same thread.
class Current {
 public:
  Current(const Driver& driver, CUcontext context) noexcept : driver_(driver) {
    changed_ = driver_.ctx_get_current(&before_) == CUDA_SUCCESS && before_ != context && driver_.ctx_set_current(context) == CUDA_SUCCESS;
  }
  ~Current() {
    if (changed_) driver_.ctx_set_current(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Driver& driver_;
  CUcontext before_ = nullptr;
  bool changed_ = false;
};

}  // namespace tdl::cuda
