// One pass's metadata on its way to the device: what the caller gave, what the pass allows, and the shape that validation found.
#pragma once
#include <cstdint>

#include "kernels/core/status.h"
#include "runtime/step/buckets.h"

namespace tdl {

enum class PassKind : int32_t { decode = 0, prefill = 1 };

inline constexpr int32_t kAdapterBase = -1, kAdapterActive = -2;

// The caller's arrays (tdl_metadata), R rows, S sequences, O outputs; nothing is kept of them.
struct Upload {
  uint32_t num_rows = 0, num_seqs = 0, max_blocks_per_seq = 0, num_outputs = 0;
  const uint32_t* token_ids = nullptr;
  const int32_t* token_from = nullptr;
  const uint32_t *positions = nullptr, *positions_h = nullptr, *positions_w = nullptr;
  const int64_t* slot = nullptr;
  const uint32_t* seq_len = nullptr;
  const int32_t* block_table = nullptr;
  const uint32_t* query_start = nullptr;
  const int32_t *seq_slot = nullptr, *moe_row_adapter = nullptr;
  const int32_t* output_row = nullptr;
};

// What an engine fixes at create.
struct StepLimits {
  uint32_t vocab_size, block_size, num_blocks, max_context;
  uint32_t max_positions;  // positions lie below this
  uint32_t max_outputs, max_adapters;
  bool mrope;
  Buckets buckets;
};

// What pass_begin fixes.
struct PassLimits {
  PassKind kind;
  uint32_t max_seqs, rows_per_seq, max_rows;
};

// The last submit, for token_from.
struct PreviousOutputs {
  bool sampled = false;           // its tokens are, or will be, on the device
  uint32_t count = 0;
  const uint8_t* live = nullptr;  // [count] 0: that output's sequence sat out
};

// What a valid upload amounts to; the padded counts are what kernels are launched with.
struct PassShape {
  PassKind kind = PassKind::decode;
  uint32_t rows = 0, seqs = 0, outputs = 0;  // live
  uint32_t padded_rows = 0, padded_seqs = 0, padded_outputs = 0;
  uint32_t rows_per_seq = 0;                 // 0 on prefill
  uint32_t bucket = 0;                       // 0 = not padded
  uint32_t stride = 0;                       // entries per row of the packed block table
  uint32_t chunks = 0;                       // attention chunks of all rows
  bool ragged = false;                       // query_start is used
  bool every_row = false;                    // outputs padded to rows, not to sequences (decode with rows_per_seq > 1)
  bool token_from = false;                   // some row takes a token that the previous submit sampled
};

}  // namespace tdl
