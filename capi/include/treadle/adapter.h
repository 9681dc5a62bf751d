/* LoRA adapters: loaded into slots, chosen per row by a pass's metadata. */
#ifndef TREADLE_ADAPTER_H
#define TREADLE_ADAPTER_H
#include "treadle/engine.h"
#include "treadle/source.h"
#include "treadle/status.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tdl_adapter_desc {
  uint32_t struct_size;
  float scale;                          /* multiplies the adapter's own alpha/r; 0 = 1 */
  const char* path; size_t path_length; /* a PEFT adapter directory, or ... */
  const tdl_source* source;             /* ... a source */
  int32_t slot_plus_1;                  /* 0 = the first free slot */
  uint32_t reserved;
} tdl_adapter_desc;
typedef struct tdl_adapter_info {
  uint32_t struct_size;
  int32_t slot;
  uint32_t max_rank, num_modules, has_expert_deltas, reserved;
  uint64_t bytes, load_id;              /* a new load_id at every load: the identity for caches */
} tdl_adapter_info;

TDL_API void tdl_adapter_desc_init(tdl_adapter_desc* desc, size_t struct_size);
TDL_API void tdl_adapter_info_init(tdl_adapter_info* info, size_t struct_size);

/* TDL_E_UNSUPPORTED in this version: adapters are not there yet. */
TDL_API tdl_status tdl_adapter_load(tdl_engine* engine, const tdl_adapter_desc* desc, tdl_adapter_info* info, tdl_error* error);
TDL_API tdl_status tdl_adapter_unload(tdl_engine* engine, int32_t slot, tdl_error* error);     /* BUSY while a submitted pass that uses it is unfinished */
TDL_API tdl_status tdl_adapter_set_active(tdl_engine* engine, int32_t slot_or_base, tdl_error* error);
TDL_API tdl_status tdl_adapter_get_info(tdl_engine* engine, int32_t slot, tdl_adapter_info* info, tdl_error* error);

#ifdef __cplusplus
}
#endif
#endif
