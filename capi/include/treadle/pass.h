/* Passes: one trip through the layers.  begin -> (upload_metadata -> submit -> wait)* -> end; tdl_step = submit + wait.
 * Several passes may be open; what runs is ordered by their submits.  Two submits may be unfinished at a time.
 *
 * A host that batches continuously has one prefill and one decode pass open for the engine's life.  A joining sequence's prompt goes through prefill, in
 * chunks where it is long (several sequences at once by query_start); its last chunk gives the first token.  Each token then goes back through decode,
 * with whatever sequences are running: any number from 1 to the pass's num_seqs.  A decode pass may also take a prompt's only or last token; it differs
 * from prefill in shape alone.  capi/examples/batching.c is such a host. */
#ifndef TREADLE_PASS_H
#define TREADLE_PASS_H
#include "treadle/engine.h"
#include "treadle/status.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tdl_pass tdl_pass; /* one shape of work, begun once and submitted as often as wanted */

enum {
  TDL_PASS_DECODE = 0, /* every sequence brings rows_per_seq rows (1: the newest token; K: verify); padded to a bucket, replayed from a captured graph */
  TDL_PASS_PREFILL = 1 /* rows of one sequence, or of several, ragged by query_start (batched prefill, prefill beside decode) */
};
typedef struct tdl_pass_desc {
  uint32_t struct_size;
  int32_t  kind;
  uint32_t num_seqs;     /* most sequences of any upload; 0 = 1 */
  uint32_t rows_per_seq; /* decode: rows of every sequence; 0 = 1.  prefill: 0 or 1, its rows are ragged */
  uint32_t max_rows;     /* prefill: most rows of any upload; 0 = the engine's max_prefill_rows.  decode: must be 0 */
  uint32_t no_sample;    /* non-zero: logits only; sample later with tdl_sample, or not at all */
} tdl_pass_desc;

enum { TDL_ADAPTER_BASE = -1, TDL_ADAPTER_ACTIVE = -2 }; /* row values of seq_slot beside 0..max_adapters-1 */

#define TDL_NO_TOKEN 0xFFFFFFFFu /* the token of an output whose sequence sat out the pass */

typedef struct tdl_sampling { /* zero everywhere = greedy */
  uint32_t struct_size;
  float temperature;                                             /* 0 = greedy; anything else is TDL_E_UNSUPPORTED in this version, penalties too */
  float top_p, min_p; uint32_t top_k;                            /* 0 = off */
  float repetition_penalty, presence_penalty, frequency_penalty; /* 0 = off (repetition: also 1) */
  uint32_t reserved;
  uint64_t seed;        /* the draw is a function of (seed, KV index of the row) alone */
} tdl_sampling;

/* One pass's attention metadata, in host memory.  tdl_upload_metadata checks all of it, writes the staging and enqueues one copy to the
 * fixed device addresses; nothing is kept of the caller's arrays.  R rows, S sequences, O outputs; rows are grouped by sequence.
 * Row i of a sequence that brings n rows has KV index seq_len - n + i and sees the KV up to that index.
 * A sequence that sits out a pass (fixed-row schedulers) has seq_len 0 and slot -1 on its rows: it reads and writes nothing, its
 * tokens and positions are ignored, and its outputs are TDL_NO_TOKEN with logits of zero.
 * A row with slot -1 in a sequence that takes part writes no KV and reads what is there (its own KV index included). */
typedef struct tdl_metadata {
  uint32_t struct_size;
  uint32_t num_rows, num_seqs;
  uint32_t max_blocks_per_seq;     /* entries per row of block_table */
  const uint32_t* token_ids;       /* [R]; NULL only when token_from gives every row's token */
  const int32_t*  token_from;      /* [R] >= 0: take the token that output i of this engine's previous submit sampled (never seen by the host); -1 =
                                      token_ids; NULL = all token_ids */
  const uint32_t* positions;       /* [R] rotary position, from 0, below the model's own limit; for plain text the row's KV index (not compared with it).
                                      Under MRoPE the temporal (T) stream.  Not NULL */
  const uint32_t* positions_h;     /* [R] MRoPE height stream; NULL = positions */
  const uint32_t* positions_w;     /* [R] MRoPE width stream;  NULL = positions */
  const int64_t*  slot;            /* [R] KV write slot = block x block_size + offset, or -1; NULL = where block_table puts the row's KV index */
  const uint32_t* seq_len;         /* [S] length after this pass, the rows being processed included; at most max_context (a pass that reaches it still
                                      samples a token, which then cannot be fed) */
  const int32_t*  block_table;     /* [S, max_blocks_per_seq] row-major; of a row only the first ceil(seq_len / block_size) entries are read; the stride need
                                      only cover the longest of this upload */
  const uint32_t* query_start;     /* [S+1] prefill: rows query_start[s]..query_start[s+1] are s's, at least one each; NULL = one sequence.  decode: NULL */
  const int32_t*  seq_slot;        /* [R] LoRA slot per row; NULL = TDL_ADAPTER_BASE on every row */
  const int32_t*  moe_row_adapter; /* [R] expert-delta slot per row, negative = none and never resolved; NULL = the resolved seq_slot where
                                      that adapter has expert deltas */
  const int32_t*  output_row;      /* [O] rows that get logits, ascending: output o is row output_row[o]; NULL = each sequence's last row, output s */
  uint32_t        num_outputs;     /* O; ignored when output_row is NULL.  0 with an output_row that is not NULL (nor read): no logits at all, for a prefill's inner
                                      chunks */
  uint32_t        num_embeds;
  const void*     embeds;          /* [num_embeds, hidden] prefill: input embeddings that replace tokens (image patches) */
  const int32_t*  embed_row;       /* [R] row of embeds, or -1 for the token's own; NULL = none */
  int32_t         embeds_dtype;    /* of embeds and deepstack; 0 = TDL_F32 */
  uint32_t        num_deepstack;   /* layers that add deepstack features (Qwen3-VL) */
  const void*     deepstack;       /* [num_deepstack, num_embeds, hidden], added to the hidden state of the rows of embed_row after layer i */
  const tdl_sampling* sampling;    /* [O]; NULL = greedy */
  const uint32_t* penalty_start;   /* [O+1] entries of penalty_token/count that belong to each output; NULL = no penalties (all there is in this version) */
  const uint32_t* penalty_token;
  const uint32_t* penalty_count;
  const uint32_t* mask;            /* [num_masks, ceil(vocab/32)] bit set = token allowed; NULL in this version */
  const int32_t*  mask_row;        /* [O] row of mask or -1; NULL = everything allowed */
  uint32_t        num_masks;
  uint32_t        num_logprobs;    /* top-n log-probabilities per output, at most 20; 0 in this version */
} tdl_metadata;

typedef struct tdl_step_result {   /* caller's arrays, written by wait; NULL = not wanted (and not copied from the device) */
  uint32_t struct_size;
  uint32_t capacity;               /* outputs that the arrays hold */
  uint32_t num_outputs;            /* out */
  uint32_t bucket;                 /* out: padded sequences; 0 = not padded */
  uint32_t replayed;               /* out: 1 = a captured graph was replayed */
  uint32_t reserved;
  tdl_status* row_status;          /* [capacity] TDL_OK or TDL_E_NUMERIC: one bad row does not fail the others, and without this array nothing tells of it */
  uint32_t* tokens;                /* [capacity]; meaningless where row_status is not TDL_OK */
  float* token_logprobs;           /* [capacity]; this and the next two are TDL_E_UNSUPPORTED in this version */
  uint32_t* top_tokens; float* top_logprobs; /* [capacity, num_logprobs] */
  float* logits;                   /* [capacity, vocab] */
  float* hidden;                   /* [capacity, hidden] after the final norm */
  uint64_t device_time_ns;         /* out */
} tdl_step_result;

/* The addresses that the pass's kernels read after its last upload, on the device (on "cpu" they are pointers; read them after tdl_wait).
 * Each field of a kind of pass, where it is not 0, is the same for the engine's life. */
typedef struct tdl_metadata_view {
  uint32_t struct_size;
  uint32_t max_blocks_per_seq, num_seqs; /* num_seqs counts the padding; 1 on a prefill of one sequence */
  uint32_t num_rows;                     /* counts the padding */
  uint64_t token_ids, positions, positions_h, positions_w, slot, seq_len, block_table; /* h and w equal positions unless the pass uses MRoPE streams */
  uint64_t query_start;     /* 0 on decode and on a prefill of one sequence */
  uint64_t seq_slot;        /* 0 when no LoRA is loaded, on a pass whose rows are all base, and on a one-sequence pass that uses the active adapter */
  uint64_t moe_row_adapter; /* 0 when no LoRA is loaded or no row folds an expert delta */
  uint64_t logits, tokens, hidden; /* where the last submit leaves them (stream order) */
} tdl_metadata_view;

TDL_API void tdl_pass_desc_init(tdl_pass_desc* desc, size_t struct_size);
TDL_API void tdl_sampling_init(tdl_sampling* sampling, size_t struct_size);
TDL_API void tdl_metadata_init(tdl_metadata* metadata, size_t struct_size);
TDL_API void tdl_step_result_init(tdl_step_result* result, size_t struct_size);
TDL_API void tdl_metadata_view_init(tdl_metadata_view* view, size_t struct_size);

/* Fixes a kind of work and its limits, within the engine's (TDL_E_LIMIT).  Captures the graphs it can need where they are made on demand. */
TDL_API tdl_status tdl_pass_begin(tdl_engine* engine, const tdl_pass_desc* desc, tdl_pass** pass, tdl_error* error);
/* Checks a pass's metadata and enqueues its copy to the device.  Replaces an upload, of any pass of the engine, that was not submitted.
 * error.row and error.seq say where.  TDL_E_BUSY while two submits are unfinished (wait for the older one first), and for a third upload
 * behind one unfinished submit (there are two stagings). */
TDL_API tdl_status tdl_upload_metadata(tdl_pass* pass, const tdl_metadata* metadata, tdl_error* error);
/* The next upload's own arrays, to fill in place and hand back to tdl_upload_metadata: no copy, no foreign memory.  Sets every array that
 * the engine has room for, num_rows, num_seqs and num_outputs to what they hold, and max_blocks_per_seq to the table's stride; cast the
 * const away, lower the counts, set arrays that are not wanted to NULL.  Contents are undefined.  Valid until the pass's next upload that
 * succeeds, any other pass's upload or map, or the pass's end.  TDL_E_BUSY as for tdl_upload_metadata. */
TDL_API tdl_status tdl_pass_map(tdl_pass* pass, tdl_metadata* staging, tdl_error* error);
/* Enqueues the pass over its last upload; the next upload may follow at once.  *ticket names it for tdl_wait.  TDL_E_STATE without an
 * upload since the last submit, or when another pass has uploaded since. */
TDL_API tdl_status tdl_submit(tdl_pass* pass, uint64_t* ticket, tdl_error* error);
/* Any thread.  Waits at most timeout_ns (0 = poll, UINT64_MAX = no limit) and writes what `result` (may be NULL) asks for.  Tokens and row
 * status are kept for the engine's last four tickets, logits and hidden until the engine's next submit; older: TDL_E_STATE.
 * TDL_E_CANCELLED, TDL_E_DEVICE: the pass itself failed. */
TDL_API tdl_status tdl_wait(tdl_engine* engine, uint64_t ticket, uint64_t timeout_ns, tdl_step_result* result, tdl_error* error);
/* Submit and wait; result may be NULL.  An unusable result (too small, tokens of a pass that does not sample) is refused before anything runs, and the
 * upload stays good for another call.  With 0 outputs the arrays stay as they are. */
TDL_API tdl_status tdl_step(tdl_pass* pass, tdl_step_result* result, tdl_error* error);
/* Samples from the logits of the engine's last submit, which was this pass's, begun with no_sample.  Reads sampling, penalties and masks
 * of `sampling` (NULL = greedy) alone; for grammars that need the forward pass's time.  Waits for the tokens. */
TDL_API tdl_status tdl_sample(tdl_pass* pass, const tdl_metadata* sampling, tdl_step_result* result, tdl_error* error);
/* TDL_E_STATE before the pass's first upload. */
TDL_API tdl_status tdl_pass_get_view(tdl_pass* pass, tdl_metadata_view* view, tdl_error* error);
/* What was submitted runs on; its tickets stay good.  Any thread, null allowed. */
TDL_API void tdl_pass_end(tdl_pass* pass);

#ifdef __cplusplus
}
#endif
#endif
