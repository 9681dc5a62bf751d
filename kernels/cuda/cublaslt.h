// cuBLASLt, opened at run time: one binary also runs where there is none.
#pragma once
#include <cublasLt.h>

#include "kernels/core/status.h"

namespace tdl::cuda {

// The library's functions and a handle.  Move only.
class CublasLt {
 public:
  // unsupported when the library cannot be opened.  The context that is current must be the device's.
  static Result<CublasLt> open();
  CublasLt(CublasLt&& other) noexcept { *this = std::move(other); }
  CublasLt& operator=(CublasLt&& other) noexcept;
  ~CublasLt();

  cublasLtHandle_t handle() const { return handle_; }

  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;

 private:
  CublasLt() = default;
  void* library_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
};

// ok for CUBLAS_STATUS_SUCCESS; the code is native_code otherwise.
Status check(cublasStatus_t status, const char* doing) noexcept;

}  // namespace tdl::cuda
