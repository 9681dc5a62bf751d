/* Sequences, EXPERIMENTAL until release: for callers that want no scheduler of their own. */
#ifndef TREADLE_SEQUENCE_H
#define TREADLE_SEQUENCE_H
#include "treadle/engine.h"
#include "treadle/pass.h"
#include "treadle/status.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tdl_sequence tdl_sequence; /* tokens, KV blocks (shared by prefix where possible), adapter, sampling; needs TDL_KV_POOL */
typedef struct tdl_sequence_desc {
  uint32_t struct_size;
  int32_t adapter_plus_1;        /* 0 = base, slot + 1 */
  const tdl_sampling* sampling;  /* NULL = greedy */
  const uint32_t* stop_tokens; uint32_t num_stop_tokens;
  uint32_t max_new_tokens;       /* 0 = up to max_context */
} tdl_sequence_desc;
typedef struct tdl_advance_desc {
  uint32_t struct_size;
  uint32_t max_rows;             /* most rows this step may process: bounds a frame's GPU time; 0 = max_prefill_rows */
} tdl_advance_desc;
typedef struct tdl_sequence_event {
  uint32_t struct_size;
  tdl_status status;             /* OK, OUT_OF_MEMORY (no block for it now), LIMIT (max_context), NUMERIC */
  int32_t token;                 /* new token, appended; -1 = none this step */
  uint32_t finished;             /* stop token, max_new_tokens or error */
  float logprob; uint32_t reserved;
} tdl_sequence_event;

TDL_API void tdl_sequence_desc_init(tdl_sequence_desc* desc, size_t struct_size);
TDL_API void tdl_advance_desc_init(tdl_advance_desc* desc, size_t struct_size);
TDL_API void tdl_sequence_event_init(tdl_sequence_event* event, size_t struct_size);

/* TDL_E_UNSUPPORTED in this version: sequences are not there yet. */
TDL_API tdl_status tdl_sequence_create(tdl_engine* engine, const tdl_sequence_desc* desc, tdl_sequence** sequence, tdl_error* error);
TDL_API tdl_status tdl_sequence_append(tdl_sequence* sequence, const uint32_t* tokens, uint32_t count, tdl_error* error);
TDL_API tdl_status tdl_sequence_fork(tdl_sequence* sequence, tdl_sequence** copy, tdl_error* error); /* shares blocks, copies on write */
TDL_API tdl_status tdl_sequence_truncate(tdl_sequence* sequence, uint32_t length, tdl_error* error);
TDL_API void tdl_sequence_destroy(tdl_sequence* sequence);
/* One scheduling step: pending tokens are prefilled in chunks, the others decode.  events[i] tells what became of sequences[i]. */
TDL_API tdl_status tdl_advance(tdl_engine* engine, const tdl_advance_desc* desc, tdl_sequence* const* sequences, uint32_t count, tdl_sequence_event* events, tdl_error* error);

#ifdef __cplusplus
}
#endif
#endif
