// Products of many rows, by cuBLASLt.  Its algorithms are chosen once for each kind of product, by its heuristics and never by timing,
// so that every process computes the same bits.
#pragma once
#include <map>
#include <memory>

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/stream.h"

namespace tdl::cuda {

// out = x . W^T + bias, or out += with `accumulate`.
struct Product {
  Matrix weight;
  const void* x;      // [rows, in], of the weight's type
  const float* bias;  // [out]; null = none; only with f32 output
  void* out;          // [rows, out]
  DType out_dtype;    // f32 or the weight's type
  bool accumulate;    // only with f32 output
  uint32_t rows;
};

class ProductTable {
 public:
  static Result<std::unique_ptr<ProductTable>> create(CublasLt library);
  ~ProductTable();

  // Row counts share an algorithm in classes; gives the largest count of the class that rows + 1 is in.
  static uint32_t next_class(uint32_t rows);
  void set_workspace(DeviceBytes workspace) { workspace_ = workspace; }
  // The first product of its kind chooses the algorithm: that cannot happen during a capture.
  Status run(const Product& product, CudaStream& stream);

 private:
  struct Key {
    uint32_t out, in, row_class;
    DType dtype, out_dtype;
    bool accumulate, bias;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Plan;
  explicit ProductTable(CublasLt library);
  Result<Plan*> plan(const Key& key);

  CublasLt library_;
  DeviceBytes workspace_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace tdl::cuda
