/* Status codes, errors, versions: what every function of Treadle's C ABI has in common.
 *
 * Rules that hold for every function
 *   - C99.  Every struct goes by pointer and starts with struct_size.  tdl_<struct>_init(&s, sizeof s) zeroes it and sets struct_size;
 *     zero means the default in every field.  A smaller struct_size is an older caller: its missing tail counts as zero (in) or is not
 *     written (out).  A larger one is a newer caller: a tail that is not zero is TDL_E_VERSION.  Arrays of structs have element 0's
 *     struct_size as their stride, and all elements the same.
 *   - Fallible functions return tdl_status and take an optional tdl_error, written on failure alone (one whose struct_size was never set is left
 *     alone; one that was set once can be used again and again).  A call refused with a negative
 *     status by its validation has changed nothing; out-parameters are as they were, except sizes asked for by
 *     TDL_E_BUFFER_TOO_SMALL.  A pass that was accepted and then failed or was cancelled leaves the KV of the slots that it was to
 *     write undefined, and everything else as it was.
 *   - Nothing here aborts, exits, prints, raises signals, throws or keeps process-wide state; two engines share nothing.
 *   - Strings are UTF-8: pointer and length in, caller's buffer out.
 *   - No thread affinity; one thread at a time per engine and its children.  A second one gets TDL_E_BUSY, never a race, except where
 *     "any thread" is said.  Callbacks run on the thread inside the call; from within one, every call on that engine is TDL_E_STATE.
 *   - Handles are counted: destroying an engine first is legal; its children then answer TDL_E_STATE until they are destroyed.
 *     Destroy functions take null, any thread, any order.
 *   - A forked child has none of the engine's threads: there every call on the parent's handles is TDL_E_STATE and destroying does nothing.
 *     It may make engines of its own.
 */
#ifndef TREADLE_STATUS_H
#define TREADLE_STATUS_H
#include <stddef.h>
#include <stdint.h>

#ifndef TDL_API
#if defined(_WIN32)
#define TDL_API __declspec(dllexport)
#elif defined(__GNUC__)
#define TDL_API __attribute__((visibility("default")))
#else
#define TDL_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TDL_API_VERSION 1u

typedef int32_t tdl_status;
enum {
  TDL_OK = 0,
  TDL_PENDING = 1,             /* tdl_wait: not finished within the time given */
  TDL_E_INVALID_ARGUMENT = -1, /* null where not allowed, unknown kind or flag, NaN parameter */
  TDL_E_RANGE = -2,            /* token, position, block, slot, seq_len or adapter out of range; error.row says where */
  TDL_E_STATE = -3,            /* calls out of order, or a parent that is gone */
  TDL_E_CONFLICT = -4,         /* one KV slot written twice in a pass, a slot outside its sequence's table, a shared or a free block */
  TDL_E_LIMIT = -5,            /* more rows, sequences, outputs, blocks or adapters than the engine was created for */
  TDL_E_NOT_FOUND = -6,        /* an empty adapter slot, a missing file or tensor */
  TDL_E_BUSY = -7,             /* a second thread; two submits unfinished already; an adapter that an unfinished pass uses */
  TDL_E_UNSUPPORTED = -8,      /* valid, but this model, device or build does not do it */
  TDL_E_IO = -9,
  TDL_E_FORMAT = -10,          /* malformed safetensors, JSON, config or adapter */
  TDL_E_OUT_OF_MEMORY = -11,   /* host or device memory, or KV blocks; the engine stays usable */
  TDL_E_DEVICE = -12,          /* a device call failed; error.native_code has it; the engine stays usable */
  TDL_E_DEVICE_LOST = -13,     /* the device's context is poisoned: every later call says this, destroy still works */
  TDL_E_BUFFER_TOO_SMALL = -14,
  TDL_E_VERSION = -15,
  TDL_E_CANCELLED = -16,
  TDL_E_INTERNAL = -17,
  TDL_E_NUMERIC = -18          /* NaN or infinity in a row's logits (row_status), or an empty set of allowed tokens */
};

typedef struct tdl_error {
  uint32_t struct_size;
  tdl_status status;
  int32_t native_code; /* cudaError_t, cublasStatus_t or errno; 0 when none */
  int32_t row, seq;    /* offending row and sequence of the upload, -1 when none */
  uint64_t required;   /* bytes or entries needed (BUFFER_TOO_SMALL, LIMIT, OUT_OF_MEMORY; RANGE of max_context: the model's), else 0 */
  char message[256];   /* names, shapes and offsets, 0-terminated; never addresses */
} tdl_error;

/* The version of the library that runs; compare with TDL_API_VERSION, the version that was compiled against.  Any thread. */
TDL_API uint32_t tdl_api_version(void);
/* "TDL_E_RANGE" and so on; "TDL_E_?" for a value that is none.  Static storage.  Any thread. */
TDL_API const char* tdl_status_name(tdl_status status);
TDL_API void tdl_error_init(tdl_error* error, size_t struct_size);

#ifdef __cplusplus
}
#endif
#endif
