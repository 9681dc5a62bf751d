// The kernel interface: one argument struct per stage and the table that a device fills.  Every stage enqueues on the stream and
// returns at once; it checks only what a programming error of ours could break.  All matrices are row-major.
//
// Common to all argument structs:
//   header   the uploaded PassHeader; rows at or past header.num_rows are padding, and a stage may leave their outputs unwritten
//   rows     rows that the launch covers: the bucket's rows on decode, the exact number on prefill
// Padding is inert: slot < 0 writes no KV, seq_len 0 reads none and gives zeros, output_row < 0 yields no logits.
// An *operand* is what a product reads beside its matrix: [rows, in] in the device's operand type for that matrix
// (Device::operand_dtype): f32 on the host, the matrix's own type on a GPU.  Sums, the residual stream and logits are f32 everywhere.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/core/dtype.h"
#include "kernels/core/span.h"
#include "kernels/core/status.h"
#include "kernels/step_args.h"

namespace tdl {

class Stream;  // kernels/device.h

// A weight matrix as stored in the checkpoint: out = x . W^T.
struct Matrix {
  DevicePtr<const void> data;  // [out, in]
  DType dtype;
  uint32_t out, in;
};

struct AttentionShape {
  uint32_t heads, kv_heads, head_dim;  // heads is a multiple of kv_heads
  uint32_t block_size;                 // KV positions per block
};

// The KV cache of one layer: [block][kv_head][K, V][block_size][head_dim], in the device's KV element type.
struct KvLayer {
  DevicePtr<void> data;
  DType dtype;
};

// hidden[r] = embedding of row r's token; cos_sin[r] = the row's rotary angles, which every layer uses.
struct EmbedArgs {
  DevicePtr<const PassHeader> header;
  AttnMetadata meta;
  DevicePtr<const uint32_t> token_ids;        // [rows]
  DevicePtr<const int32_t> token_from;        // [rows] >= 0: the token is sampled_tokens[token_from[r]]; null = all from token_ids
  DevicePtr<const uint32_t> sampled_tokens;   // [max_outputs] what the previous sample stage left
  Matrix table;                               // [vocab, hidden]
  DevicePtr<const float> inv_freq;            // [head_dim / 2] rotary frequencies
  DevicePtr<float> hidden;                    // out [rows, hidden] f32
  DevicePtr<float> cos_sin;                   // out [rows, head_dim] f32: head_dim / 2 cosines, then as many sines
  float rope_scale;                           // multiplies cosines and sines (yarn); 1 otherwise
  uint32_t rows, hidden_size, head_dim, vocab_size;
};

// qkv[r] = (RMSNorm(hidden[r]) . W^T) + bias, W = q, k and v packed one above the other.
struct QkvArgs {
  DevicePtr<const PassHeader> header;
  DevicePtr<const float> hidden;   // [rows, in]
  DevicePtr<const float> norm;     // [in]
  Matrix weight;                   // [(heads + 2 kv_heads) x head_dim, in]
  DevicePtr<const float> bias;     // [out]; null = none
  DevicePtr<void> normed;          // workspace [rows, in], operand
  DevicePtr<float> qkv;            // out [rows, out]
  float eps;
  uint32_t rows;
};

// In qkv: RMSNorm of each q and k head (where the model has it), rotary embedding of q and k (halves rotated, not pairs);
// then k and v go to the cache at the row's slot.  What is left in k's place of qkv is the device's own affair.
struct RopeKvArgs {
  DevicePtr<const PassHeader> header;
  AttnMetadata meta;
  AttentionShape shape;
  DevicePtr<const float> cos_sin;         // [rows, head_dim]
  DevicePtr<const float> q_norm, k_norm;  // [head_dim]; null = none
  DevicePtr<float> qkv;                   // in and out [rows, (heads + 2 kv_heads) x head_dim]
  KvLayer kv;
  float eps;
  uint32_t rows;
};

// out[r] = softmax(scale q.K) V over the KV positions that row r may see: those up to its own KV index, and with a window the last
// `window` of them.  Row i of a sequence with n rows has KV index seq_len - n + i; positions play no part.
struct AttentionArgs {
  DevicePtr<const PassHeader> header;
  AttnMetadata meta;
  AttentionShape shape;
  DevicePtr<const uint32_t> chunk_start;  // [rows + 1] prefix sums of each row's chunk count; the last live entry is header.num_chunks
  DevicePtr<const float> qkv;             // [rows, (heads + 2 kv_heads) x head_dim]; q comes first
  KvLayer kv;
  DevicePtr<void> out;                    // [rows, heads x head_dim], operand of out_dtype
  DType out_dtype;
  DevicePtr<float> partials;              // workspace [max_chunks, heads, head_dim + 2], used when num_chunks <= max_chunks
  DevicePtr<uint32_t> tickets;            // workspace [rows, kv_heads], zero between stages
  uint32_t max_chunks;
  float scale;
  uint32_t window;                        // 0 = none
  uint32_t rows;
  uint32_t rows_per_seq;                  // decode: rows of every sequence; 0 = prefill, by meta.query_start
};

// hidden[r] += x[r] . W^T + bias  (the o and down products).
struct LinearResidualArgs {
  DevicePtr<const PassHeader> header;
  DevicePtr<const void> x;      // [rows, in], operand
  Matrix weight;                // [out, in]
  DevicePtr<const float> bias;  // [out]; null = none
  DevicePtr<float> hidden;      // in and out [rows, out]
  uint32_t rows;
};

// out[r] = SiLU(gate) * up, with gate and up = RMSNorm(hidden[r]) . W^T + bias; W = gate and up packed one above the other.
struct GateUpArgs {
  DevicePtr<const PassHeader> header;
  DevicePtr<const float> hidden;  // [rows, in]
  DevicePtr<const float> norm;    // [in]
  Matrix weight;                  // [2 x intermediate, in]
  DevicePtr<const float> bias;    // [2 x intermediate]; null = none
  DevicePtr<void> normed;         // workspace [rows, in], operand
  DevicePtr<void> gate_up;        // workspace [rows, 2 x intermediate]: the product, in the operand's type
  DevicePtr<void> out;            // [rows, intermediate], operand of out_dtype
  DType out_dtype;
  float eps;
  uint32_t rows;
};

// For each output o with output_row[o] >= 0: hidden_out[o] = RMSNorm(hidden[output_row[o]]); logits[o] = hidden_out[o] . W^T;
// row_status[o] = 0, or Code::numeric when a logit is not finite.  For output_row[o] < 0, below `outputs`: logits and hidden_out
// are zeros and row_status 0.
struct HeadArgs {
  DevicePtr<const PassHeader> header;
  DevicePtr<const int32_t> output_row;  // [outputs]; -1 = padding
  DevicePtr<const float> hidden;        // [rows, in]
  DevicePtr<const float> norm;          // [in]
  Matrix weight;                        // [vocab, in]
  DevicePtr<void> normed;               // workspace [outputs, in], operand
  DevicePtr<float> hidden_out;          // [outputs, in]
  DevicePtr<float> logits;              // [outputs, vocab]
  DevicePtr<int32_t> row_status;        // [outputs]
  float eps;
  uint32_t outputs;
};

// tokens[o] = the lowest index among the largest logits.  Where row_status is not 0 the token is 0 (in range, and meaning nothing);
// where output_row is -1 it is kNoToken.
inline constexpr uint32_t kNoToken = 0xFFFFFFFFu;
struct SampleArgs {
  DevicePtr<const PassHeader> header;
  DevicePtr<const int32_t> output_row;  // [outputs]
  DevicePtr<const float> logits;        // [outputs, vocab]
  DevicePtr<const int32_t> row_status;  // [outputs]
  DevicePtr<uint32_t> tokens;           // out [outputs]
  uint32_t outputs, vocab_size;
};

// Copies whole KV blocks, in every layer: from[i] to to[i], i < count.
struct KvCopyArgs {
  static constexpr uint32_t kMost = 16;
  DevicePtr<void> data;      // [layers][blocks][block_bytes]
  uint64_t layer_bytes, block_bytes;
  uint32_t layers, count;
  int32_t from[kMost], to[kMost];
};

// data[i] = the element of type dtype that random_weight (random.h) gives for (seed, i).
struct FillRandomArgs {
  DevicePtr<void> data;
  DType dtype;
  uint64_t count, seed;
  bool ones;  // 1 everywhere instead
};

// A null entry is a stage that the device does not have.
struct StageTable {
  Status (*embed)(const EmbedArgs&, Stream&) = nullptr;
  Status (*qkv)(const QkvArgs&, Stream&) = nullptr;
  Status (*rope_kv)(const RopeKvArgs&, Stream&) = nullptr;
  Status (*attention)(const AttentionArgs&, Stream&) = nullptr;
  Status (*linear_residual)(const LinearResidualArgs&, Stream&) = nullptr;
  Status (*gate_up)(const GateUpArgs&, Stream&) = nullptr;
  Status (*head)(const HeadArgs&, Stream&) = nullptr;
  Status (*sample)(const SampleArgs&, Stream&) = nullptr;
  Status (*kv_copy)(const KvCopyArgs&, Stream&) = nullptr;
  Status (*fill_random)(const FillRandomArgs&, Stream&) = nullptr;
};

static_assert(std::is_trivially_copyable_v<EmbedArgs> && std::is_trivially_copyable_v<QkvArgs>);
static_assert(std::is_trivially_copyable_v<RopeKvArgs> && std::is_trivially_copyable_v<AttentionArgs>);
static_assert(std::is_trivially_copyable_v<LinearResidualArgs> && std::is_trivially_copyable_v<GateUpArgs>);
static_assert(std::is_trivially_copyable_v<HeadArgs> && std::is_trivially_copyable_v<SampleArgs>);
static_assert(std::is_trivially_copyable_v<KvCopyArgs>);

}  // namespace tdl
