// A call that must be refused: a row of the refusal tables, and the engine that it is made on.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/support/host.h"

namespace tdl::test {

inline constexpr uint32_t kVocab = 192, kWidth = 128;  // of the model in use, qwen3
inline constexpr uint32_t kBadBlocks = 12;

// Arrays of an upload; `m` points at them.
struct Arrays {
  uint32_t tokens[32], positions[32], positions_h[32], positions_w[32], seq_len[4], query_start[5];
  int32_t token_from[32], table[16], output_row[32], seq_slot[32], moe_row_adapter[32];
  int64_t slot[32];
  tdl_sampling sampling[8];
  tdl_metadata m;
};

// Everything that a call may write.  Refusals leave every byte of it alone.
struct Out {
  tdl_source* source;
  tdl_engine* engine;
  tdl_pass* pass;
  tdl_sequence* sequence;
  uint64_t ticket;
  size_t bytes;
  int32_t blocks[16];
  tdl_metadata mapped;
  tdl_metadata_view view;
  tdl_memory_plan plan;
  tdl_engine_info info;
  tdl_engine_stats stats;
  tdl_step_result result;  // its arrays are those below
  tdl_status row_status[32];
  uint32_t tokens[32];
  float token_logprobs[32], logits[32 * kVocab], hidden[32 * kWidth];
  char text[64];
};

// An engine with a history: two sequences of 20 and 4 tokens are in its cache, one submit is done.  Block size 16, 12 blocks, at most 3
// sequences, 2 rows of each, 24 rows of a prefill, 5 outputs, 64 tokens of context.
struct Rig {
  EngineHandle engine;
  PassHandle prefill, decode, pair, silent;  // prefill of 2 sequences; decode of 2; of 2 with 2 rows each; of 2 without sampling
  tdl_pass* pass;                            // that calls are made on: decode
  uint64_t ticket;                           // of the last submit
  Arrays in;                                 // a good decode of both sequences
  bool serves = true;                        // a change clears it when it takes from the engine what a good decode needs
  Out out;

  explicit Rig(int32_t kv_mode);
  void use_decode();                 // `in` and `pass` as they are at first
  void use_prefill();                // 3 rows of the first and 2 of the second sequence, on `prefill`
  void use_pair();                   // 2 rows of each, on `pair`
  void upload() { use(tdl_upload_metadata(pass, &in.m, nullptr)); }
  void submit() { use(tdl_submit(pass, &ticket, nullptr)); }
  void wait() { use(tdl_wait(engine.get(), ticket, UINT64_MAX, nullptr, nullptr)); }
  void use(tdl_status status);       // fails the test unless it is TDL_OK
  uint64_t digest();                 // 0 when the engine is gone
  void check_works();                // a good decode is served
};

inline std::string name_of(tdl_status status) { return tdl_status_name(status); }

using Change = std::function<void(Rig&)>;
using CallOn = std::function<tdl_status(Rig&, tdl_error*)>;

struct BadCall {
  std::string name;
  Change change;  // from the rig's good arguments to the bad ones; may make good calls of its own; may be null
  CallOn call;
  tdl_status status;
  int32_t row = -1, seq = -1;  // of the error
  uint64_t required = 0;
};

// Makes each call on a rig of its own, with and without an error struct, and checks the status, the error, that nothing has changed and
// that the engine still serves.
void check_refused(const std::vector<BadCall>& calls, int32_t kv_mode = TDL_KV_CALLER);

}  // namespace tdl::test
