// Products of few rows: each weight is streamed from memory once, through tensor cores, with everything around the product inside.
#pragma once
#include "kernels/cuda/stream.h"

namespace tdl::cuda {

// The most rows.  Measured on an H200 (tests/bench/gpu_chain): a step's products take 4.65 ms at 16 rows here and 5.0 ms by cuBLASLt, and
// at 32 rows 7.3 ms here.
inline constexpr uint32_t kStreamRows = 16;

enum class Finish : uint32_t {
  store,     // out f32 = sum + bias
  residual,  // out f32 += sum + bias
  silu_mul,  // out, an operand = SiLU(gate) * up, W = gate and up one above the other
  logits     // out f32 = sum; a row that is not finite gets Code::numeric in row_status; zeros where output_row is -1
};

struct StreamLinear {
  Matrix weight;
  DevicePtr<const void> x;              // [rows, in], operand; null with norm
  DevicePtr<const float> hidden, norm;  // with norm: x = RMSNorm(hidden), for weights in bf16
  DevicePtr<const float> bias;          // [out]; null = none
  DevicePtr<void> out;                  // [rows, out], or half of out with silu_mul
  DType out_dtype;                      // of silu_mul
  DevicePtr<const PassHeader> header;   // rows past its num_rows are left unwritten; null = all rows are live
  DevicePtr<const int32_t> output_row;  // of logits
  DevicePtr<int32_t> row_status;        // likewise
  float eps;
  uint32_t rows;
  Finish finish;
};

Status stream_linear(const StreamLinear& args, CudaStream& stream);
// Loads the kernels; once per device, in its context.
Status prepare_stream_linear(uint32_t shared_limit);

}  // namespace tdl::cuda
