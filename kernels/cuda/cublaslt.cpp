#include "kernels/cuda/cublaslt.h"

#include <dlfcn.h>

#include <utility>

namespace tdl::cuda {
namespace {

#define TDL_TEXT_INNER(x) #x
#define TDL_TEXT(x) TDL_TEXT_INNER(x)
constexpr const char* kLibrary = "libcublasLt.so." TDL_TEXT(CUBLAS_VER_MAJOR);  // the major version that the headers are of
#undef TDL_TEXT
#undef TDL_TEXT_INNER

template <class Function>
Status find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function ? Status() : fail(Code::unsupported, "%s has no %s", kLibrary, name);
}

}  // namespace

Status check(cublasStatus_t status, const char* doing) noexcept {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const Code code = status == CUBLAS_STATUS_ALLOC_FAILED ? Code::out_of_memory : status == CUBLAS_STATUS_NOT_SUPPORTED ? Code::unsupported : Code::device;
  return fail(code, "%s: cuBLASLt status %d", doing, static_cast<int>(status)).native(static_cast<int32_t>(status));
}

Result<CublasLt> CublasLt::open() {
  CublasLt lt;
  lt.library_ = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!lt.library_) return fail(Code::unsupported, "%s cannot be opened; it comes with the CUDA Toolkit, and must be where the loader looks", kLibrary);
  TDL_TRY(find(lt.library_, "cublasLtCreate", &lt.create));
  TDL_TRY(find(lt.library_, "cublasLtDestroy", &lt.destroy));
  TDL_TRY(find(lt.library_, "cublasLtMatmul", &lt.matmul));
  TDL_TRY(find(lt.library_, "cublasLtMatmulDescCreate", &lt.desc_create));
  TDL_TRY(find(lt.library_, "cublasLtMatmulDescDestroy", &lt.desc_destroy));
  TDL_TRY(find(lt.library_, "cublasLtMatmulDescSetAttribute", &lt.desc_set));
  TDL_TRY(find(lt.library_, "cublasLtMatrixLayoutCreate", &lt.layout_create));
  TDL_TRY(find(lt.library_, "cublasLtMatrixLayoutDestroy", &lt.layout_destroy));
  TDL_TRY(find(lt.library_, "cublasLtMatrixLayoutSetAttribute", &lt.layout_set));
  TDL_TRY(find(lt.library_, "cublasLtMatmulPreferenceCreate", &lt.preference_create));
  TDL_TRY(find(lt.library_, "cublasLtMatmulPreferenceDestroy", &lt.preference_destroy));
  TDL_TRY(find(lt.library_, "cublasLtMatmulPreferenceSetAttribute", &lt.preference_set));
  TDL_TRY(find(lt.library_, "cublasLtMatmulAlgoGetHeuristic", &lt.heuristic));
  TDL_TRY(check(lt.create(&lt.handle_), "cublasLtCreate"));
  return lt;
}

CublasLt& CublasLt::operator=(CublasLt&& other) noexcept {
  create = other.create;
  destroy = other.destroy;
  matmul = other.matmul;
  desc_create = other.desc_create;
  desc_destroy = other.desc_destroy;
  desc_set = other.desc_set;
  layout_create = other.layout_create;
  layout_destroy = other.layout_destroy;
  layout_set = other.layout_set;
  preference_create = other.preference_create;
  preference_destroy = other.preference_destroy;
  preference_set = other.preference_set;
  heuristic = other.heuristic;
  std::swap(library_, other.library_);
  std::swap(handle_, other.handle_);
  return *this;
}

CublasLt::~CublasLt() {
  if (handle_) destroy(handle_);
  if (library_) dlclose(library_);
}

}  // namespace tdl::cuda
