// RMSNorm of rows, and the elementwise half of an MLP, for products that do not have them inside.
#pragma once
#include "kernels/cuda/stream.h"

namespace tdl::cuda {

struct NormRows {
  const PassHeader* header;   // rows past its num_rows are left unwritten; null = all are live
  const float *hidden, *norm; // [any, in], [in]
  const int32_t* row_of;      // row i is hidden[row_of[i]], zeros where that is negative; null = hidden[i]
  void* out;                  // operand [rows, in] of dtype
  float* out_f32;             // [rows, in] as well; null = not wanted
  int32_t* row_status;        // [rows], set to 0; null = not wanted
  DType dtype;
  float eps;
  uint32_t rows, in;
};
Status norm_rows(const NormRows& args, CudaStream& stream);

// out[r] = SiLU(gate) * up over products [rows, 2 x inner] that lack their bias.
struct SiluMul {
  const PassHeader* header;
  const void* gate_up;  // of dtype
  const float* bias;    // [2 x inner]; null = none
  void* out;            // [rows, inner], of out_dtype
  DType dtype, out_dtype;
  uint32_t rows, inner;
};
Status silu_mul(const SiluMul& args, CudaStream& stream);

Status prepare_norm();

}  // namespace tdl::cuda
