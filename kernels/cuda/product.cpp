#include "kernels/cuda/product.h"

#include "kernels/cuda/check.h"
#include "kernels/cuda/launch.h"

namespace tdl::cuda {
namespace {

cudaDataType_t data_type(DType type) { return type == DType::f32 ? CUDA_R_32F : type == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F; }

}  // namespace

// cuBLASLt's matrices are column-major: it computes out^T [out x rows] = (W^T)^T . x^T.
struct ProductTable::Plan {
  const CublasLt& lt;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weight = nullptr, x = nullptr, out = nullptr;
  cublasLtMatmulAlgo_t algorithm{};

  explicit Plan(const CublasLt& library) : lt(library) {}
  ~Plan() {
    if (operation) lt.desc_destroy(operation);
    for (const auto layout : {weight, x, out})
      if (layout) lt.layout_destroy(layout);
  }
  Status init(const Key& key, uint64_t workspace_bytes) {
    TDL_TRY(check(lt.desc_create(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate"));
    const cublasOperation_t transpose = CUBLAS_OP_T;
    TDL_TRY(check(lt.desc_set(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose), "cublasLtMatmulDescSetAttribute"));
    if (key.bias) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      TDL_TRY(check(lt.desc_set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue), "cublasLtMatmulDescSetAttribute"));
    }
    const cudaDataType_t type = data_type(key.dtype), out_type = data_type(key.out_dtype);
    TDL_TRY(check(lt.layout_create(&weight, type, key.in, key.out, key.in), "cublasLtMatrixLayoutCreate"));
    TDL_TRY(check(lt.layout_create(&x, type, key.in, key.row_class, key.in), "cublasLtMatrixLayoutCreate"));
    TDL_TRY(check(lt.layout_create(&out, out_type, key.out, key.row_class, key.out), "cublasLtMatrixLayoutCreate"));
    cublasLtMatmulPreference_t preference = nullptr;
    TDL_TRY(check(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate"));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    cublasStatus_t status = lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
    if (status == CUBLAS_STATUS_SUCCESS) status = lt.heuristic(lt.handle(), operation, weight, x, out, out, preference, 1, &found, &count);
    lt.preference_destroy(preference);
    TDL_TRY(check(status, "cublasLtMatmulAlgoGetHeuristic"));
    if (count == 0) return fail(Code::unsupported, "cuBLASLt has no algorithm for a product of %u x %u by %u rows", key.out, key.in, key.row_class);
    algorithm = found.algo;
    return {};
  }
};

Result<std::unique_ptr<ProductTable>> ProductTable::create(CublasLt library) {
  return std::unique_ptr<ProductTable>(new ProductTable(std::move(library)));
}

ProductTable::ProductTable(CublasLt library) : library_(std::move(library)) {}
ProductTable::~ProductTable() = default;

uint32_t ProductTable::next_class(uint32_t rows) {
  // 8 16 32 48 64 96 128 192 ...: powers of two and the halves between.
  uint32_t size = 8;
  while (size <= rows && size < (1u << 30)) {
    if (size >= 32 && size + size / 2 > rows) return size + size / 2;
    size *= 2;
  }
  return size;
}

Result<ProductTable::Plan*> ProductTable::plan(const Key& key) {
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second.get();
  auto made = std::make_unique<Plan>(library_);
  TDL_TRY(made->init(key, workspace_.bytes));
  return plans_.emplace(key, std::move(made)).first->second.get();
}

Status ProductTable::run(const Product& product, CudaStream& stream) {
  const Matrix& w = product.weight;
  TDL_ASSIGN(Plan* const plan, this->plan({w.out, w.in, next_class(product.rows - 1), w.dtype, product.out_dtype, product.accumulate, product.bias != nullptr}));
  const uint64_t columns = product.rows;
  TDL_TRY(check(library_.layout_set(plan->x, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns), "cublasLtMatrixLayoutSetAttribute"));
  TDL_TRY(check(library_.layout_set(plan->out, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns), "cublasLtMatrixLayoutSetAttribute"));
  if (product.bias)
    TDL_TRY(check(library_.desc_set(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &product.bias, sizeof product.bias), "cublasLtMatmulDescSetAttribute"));
  const float one = 1, beta = product.accumulate ? 1.0f : 0.0f;
  return check(library_.matmul(library_.handle(), plan->operation, &one, at(w.data), plan->weight, product.x, plan->x, &beta, product.out, plan->out, product.out,
                               plan->out, &plan->algorithm, reinterpret_cast<void*>(workspace_.address), workspace_.bytes, stream.native()),
               "cublasLtMatmul");
}

}  // namespace tdl::cuda
