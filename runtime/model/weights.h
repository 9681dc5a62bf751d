// A model's weights on the device: what is needed and where it lies, packed (q|k|v and gate|up one above the other).
// Matrices are kept in the type that the device keeps them in (Device::matrix_dtype); vectors (norms, biases) become f32.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/load/config.h"
#include "runtime/load/safetensors.h"

namespace tdl {

struct LayerWeights {
  Matrix qkv, o, gate_up, down;
  DevicePtr<const float> attention_norm, mlp_norm;
  DevicePtr<const float> q_norm, k_norm;                        // null where the family has none
  DevicePtr<const float> qkv_bias, o_bias, gate_up_bias, down_bias;  // null where there is none
  uint32_t window = 0;
};

struct Weights {
  Matrix embed, head;  // the same memory when the head is tied
  DevicePtr<const float> final_norm, inv_freq;
  std::vector<LayerWeights> layers;
};

// One tensor's place: part of a matrix or vector, at an offset from the start of the weights.
struct WeightPiece {
  std::string name;
  std::vector<uint64_t> shape;
  const TensorInfo* tensor;  // null with random weights
  DType stored, kept;        // in the checkpoint, on the device
  bool norm;                 // random weights: 1 everywhere
  uint64_t offset, bytes;    // on the device
};

class WeightPlan {
 public:
  // Finds every tensor of the model in the checkpoint (null: random weights), each exactly once, and gives it a place.  Not found,
  // wrong shapes, parts of one packed matrix in different types, and tensors that nothing explains are errors that name them.
  static Result<WeightPlan> make(const ModelConfig& config, const Device& device, Checkpoint* checkpoint);

  uint64_t bytes() const { return bytes_; }
  const std::vector<WeightPiece>& pieces() const { return pieces_; }
  const std::vector<float>& inv_freq() const { return inv_freq_; }
  uint64_t inv_freq_offset() const { return inv_freq_offset_; }
  const Matrix& embed() const { return relative_.embed; }  // its type and shape; not where it is
  // Matrices that are kept in fewer bits than they are stored in.
  bool narrows() const { return narrows_; }
  // The weights with their pieces at `base`.
  Weights bind(uint64_t base) const;

 private:
  Status add_matrix(Checkpoint* checkpoint, const std::vector<std::string>& names, const std::vector<uint32_t>& outs, uint32_t in, Matrix* matrix);
  Status add_vector(Checkpoint* checkpoint, const std::vector<std::string>& names, const std::vector<uint32_t>& sizes, DevicePtr<const float>* vector);
  Status add_layer(const ModelConfig& config, Checkpoint* checkpoint, uint32_t layer);

  Weights relative_;  // addresses are offsets + 1, so that null stays apart; bind() makes them real
  std::vector<WeightPiece> pieces_;
  std::vector<float> inv_freq_;
  uint64_t inv_freq_offset_ = 0, bytes_ = 0;
  DType random_dtype_ = DType::bf16;
  bool narrows_ = false;
  const Device* device_ = nullptr;  // during make()
};

}  // namespace tdl
