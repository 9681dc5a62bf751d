/* KV blocks: numbers 0..num_blocks-1.  With TDL_KV_CALLER the caller numbers them itself and needs only tdl_kv_copy; with TDL_KV_POOL
 * they are counted: alloc gives a block one reference, and a pass may write only blocks that have exactly one.  The counts are those of
 * the upload: do not release or retain blocks between an upload that writes them and its submit (that is not checked).
 * A count of 0 does nothing (with TDL_KV_CALLER it is TDL_E_STATE all the same). */
#ifndef TREADLE_KV_H
#define TREADLE_KV_H
#include "treadle/engine.h"
#include "treadle/status.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Writes `count` free block numbers to blocks: all or nothing.  TDL_E_OUT_OF_MEMORY, error.required = the blocks that are missing, when
 * too few are free.  TDL_E_STATE on an engine of TDL_KV_CALLER (retain and release too). */
TDL_API tdl_status tdl_kv_alloc(tdl_engine* engine, int32_t* blocks, uint32_t count, tdl_error* error);
/* One more, one fewer reference to each; a block named twice counts twice.  All or nothing: TDL_E_RANGE for a number that is no block,
 * TDL_E_CONFLICT for a block that is free, or released more often than it was retained; error.row is its index. */
TDL_API tdl_status tdl_kv_retain(tdl_engine* engine, const int32_t* blocks, uint32_t count, tdl_error* error);
TDL_API tdl_status tdl_kv_release(tdl_engine* engine, const int32_t* blocks, uint32_t count, tdl_error* error);
/* Copies whole blocks, in every layer, in stream order: after what was submitted, before what is submitted next.  No block may be a target
 * twice, or source and target (TDL_E_CONFLICT); with TDL_KV_POOL a source must be allocated and a target have one reference. */
TDL_API tdl_status tdl_kv_copy(tdl_engine* engine, const int32_t* from, const int32_t* to, uint32_t count, tdl_error* error);

#ifdef __cplusplus
}
#endif
#endif
