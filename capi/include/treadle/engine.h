/* An engine: device, weights, KV pool, metadata blocks, adapter slots and captured graphs of one model. */
#ifndef TREADLE_ENGINE_H
#define TREADLE_ENGINE_H
#include "treadle/source.h"
#include "treadle/status.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tdl_engine tdl_engine;

enum { TDL_LOG_INFO = 1, TDL_LOG_WARNING = 2 };
/* One line without a newline; `message` is valid during the call only.  Called on the thread inside a call of this engine. */
typedef void (*tdl_log_fn)(void* user, int32_t level, const char* message, size_t length);
/* fraction in [0,1] of the stage, which is "weights" and then "graphs"; returning non-zero cancels the load (TDL_E_CANCELLED). */
typedef int32_t (*tdl_progress_fn)(void* user, float fraction, const char* stage, size_t length);

enum { TDL_F32 = 1, TDL_BF16 = 2, TDL_F16 = 3 };
enum { TDL_GRAPHS_AT_CREATE = 0, TDL_GRAPHS_ON_DEMAND = 1, TDL_GRAPHS_OFF = 2 };
enum {
  TDL_KV_CALLER = 0, /* the caller numbers blocks itself */
  TDL_KV_POOL = 1    /* blocks come from tdl_kv_alloc; writing one that is not owned, or shared, is refused */
};
enum {
  TDL_ENGINE_BATCH_INVARIANT = 1u << 0, /* a row's bits do not depend on the other rows, its index, the padding or the chunking, nor on whether
                                           its tokens were prefilled or decoded.  On the CPU that holds always, and costs nothing */
  TDL_ENGINE_RANDOM_WEIGHTS = 1u << 1,  /* only config.json is read: random weights, for benchmarks and sizing */
  TDL_ENGINE_VALIDATE = 1u << 2         /* bounds checked in the kernels too; an error record instead of a fault.  TDL_E_UNSUPPORTED in this version */
};

typedef struct tdl_engine_config {
  uint32_t struct_size;
  const char* model_path;  size_t model_path_length;   /* a Hugging Face model directory, or ... */
  const tdl_source* model_source;                      /* ... a source; exactly one of the two */
  const char* device;      size_t device_length;       /* "auto" (default), "cpu", "cuda", "cuda:1" */
  uint32_t max_seqs;            /* most sequences in a pass                                        default 64 */
  uint32_t max_rows_per_seq;    /* most rows per sequence in a decode pass (speculative verify)    default 1 */
  uint32_t max_prefill_rows;    /* most rows in a prefill pass                                     default 2048 */
  uint32_t max_outputs;         /* most rows that get logits in a pass                             default max_seqs x max_rows_per_seq */
  uint32_t max_context;         /* longest sequence; 0 = what the model was made for; longer than that is TDL_E_RANGE (error.required = the model's) */
  uint32_t block_size;          /* KV tokens per block: 16, 32, 64 (default), 128 */
  uint32_t num_blocks;          /* 0 = from kv_memory_bytes; if that is 0 too, enough for max_seqs x max_context, at most 90% of the free
                                   device memory after everything else (host: a quarter of the free RAM).  One sequence of max_context must fit in
                                   every case (TDL_E_OUT_OF_MEMORY).  All of them are free after create: none is kept back */
  uint64_t kv_memory_bytes;     /* bytes for KV blocks; not together with num_blocks */
  int32_t  kv_dtype;            /* 0 = TDL_F32 on the host device (which has no other), TDL_BF16 on CUDA */
  int32_t  kv_mode;             /* TDL_KV_CALLER or TDL_KV_POOL */
  uint32_t max_adapters;        /* resident LoRA slots; 0 = no LoRA memory at all */
  uint32_t max_lora_rank;       /*                                                                 default 64 */
  uint32_t num_threads;         /* host device: compute threads, at most 1024; 0 = one per core */
  const uint32_t* decode_buckets; uint32_t num_decode_buckets; /* padded sequence counts, ascending, at most 64, the last max_seqs;
                                   default 1,2,4,8,16,24,32,48,64,80,96,112,128,160,... up to max_seqs */
  int32_t  graph_mode;
  uint32_t flags;
  void*    cuda_stream;         /* caller's (non-legacy) stream to run on; NULL = the engine's own.  Capture never happens on it. */
  int32_t  stream_priority;     /* of the engine's own stream, on a device that has priorities */
  tdl_log_fn log; void* log_user;
  tdl_progress_fn progress; void* progress_user;
} tdl_engine_config;

typedef struct tdl_memory_plan { /* bytes the engine will allocate, known before anything is loaded */
  uint32_t struct_size, num_blocks;
  uint64_t weights, kv_cache, adapters, activations, metadata, workspace, host_pinned, host_pageable;
  uint64_t graphs_estimate, context_estimate; /* what the driver takes on top; estimates */
  uint64_t device_free;                       /* free memory of the device now; 0 = unknown */
} tdl_memory_plan;

typedef struct tdl_engine_info { /* never changes in the engine's life */
  uint32_t struct_size;
  uint32_t vocab_size, hidden_size, num_layers, num_heads, num_kv_heads, head_dim, num_experts, mrope;
  uint32_t max_seqs, max_rows_per_seq, max_prefill_rows, max_outputs, max_context, block_size, num_blocks, max_adapters, max_lora_rank;
  uint32_t num_buckets; uint32_t buckets[64];
  uint32_t num_eos; uint32_t eos[8];                    /* from generation_config.json, else config.json; 0 = neither names one; more than 8 are TDL_E_UNSUPPORTED */
  int32_t  kv_dtype, kv_mode;
  char architecture[64]; char device[64];               /* 0-terminated */
} tdl_engine_info;

typedef struct tdl_engine_stats {
  uint32_t struct_size, graphs, free_blocks, adapters;  /* free_blocks: TDL_KV_POOL only */
  uint64_t graph_bytes, graph_capture_ns, graph_replays, eager_passes, passes, rows, uploaded_bytes;
  uint64_t graph_failures;                              /* captures that failed; their passes run eagerly */
} tdl_engine_stats;

TDL_API void tdl_engine_config_init(tdl_engine_config* config, size_t struct_size);
TDL_API void tdl_memory_plan_init(tdl_memory_plan* plan, size_t struct_size);
TDL_API void tdl_engine_info_init(tdl_engine_info* info, size_t struct_size);
TDL_API void tdl_engine_stats_init(tdl_engine_stats* stats, size_t struct_size);

/* What tdl_engine_create would allocate with this configuration; reads config.json and the tensors' headers, loads nothing.
 * TDL_E_OUT_OF_MEMORY, with the figures, when not even one sequence of max_context fits.  Any thread. */
TDL_API tdl_status tdl_engine_plan(const tdl_engine_config* config, tdl_memory_plan* plan, tdl_error* error);
/* Loads a model; takes as long as reading its weights.  The configuration and what it points to may go afterwards, the log callback and
 * its user pointer excepted: they live as long as the engine.  All memory is taken here.  *engine is the caller's, untouched on failure.
 * TDL_E_NOT_FOUND, TDL_E_IO, TDL_E_FORMAT, TDL_E_UNSUPPORTED name the file, field or tensor; TDL_E_INVALID_ARGUMENT, TDL_E_RANGE, TDL_E_LIMIT the
 * field of the configuration; TDL_E_OUT_OF_MEMORY the figures; TDL_E_CANCELLED comes of progress.  Any thread. */
TDL_API tdl_status tdl_engine_create(const tdl_engine_config* config, tdl_engine** engine, tdl_error* error);
/* Waits for the passes in flight, then frees everything.  Passes that are still open answer TDL_E_STATE from now on.  Any thread; while
 * another thread is inside a call, the memory is freed when that call returns. */
TDL_API void tdl_engine_destroy(tdl_engine* engine);
/* Any thread. */
TDL_API tdl_status tdl_engine_get_info(tdl_engine* engine, tdl_engine_info* info, tdl_error* error);
/* Any thread; counters of one moment, each right by itself. */
TDL_API tdl_status tdl_engine_get_stats(tdl_engine* engine, tdl_engine_stats* stats, tdl_error* error);
/* Any thread.  Ends what is in progress at its next boundary (a load's tensor, an eager pass's layer; a replayed graph runs out): its
 * call or its tdl_wait then says TDL_E_CANCELLED.  Does nothing when idle, and nothing to what is submitted later. */
TDL_API void tdl_engine_cancel(tdl_engine* engine);

#ifdef __cplusplus
}
#endif
#endif
