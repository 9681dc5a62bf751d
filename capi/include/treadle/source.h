/* A source: where a model's or adapter's files come from.  Directories, memory and ranges of pack files, in any mixture: a model
 * directory that need not be one.  A source is read while an engine, adapter or tokenizer is created and may be destroyed after.
 * One thread at a time changes a source; any number may read it. */
#ifndef TREADLE_SOURCE_H
#define TREADLE_SOURCE_H
#include "treadle/status.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tdl_source tdl_source;

/* An empty source, owned by the caller. */
TDL_API tdl_status tdl_source_create(tdl_source** source, tdl_error* error);
/* All files of a directory, which must exist.  Symbolic links in it are followed, as in Hugging Face's cache.  Files added by name come
 * first, then directories in the order they were added. */
TDL_API tdl_status tdl_source_add_directory(tdl_source* source, const char* path, size_t length, tdl_error* error);
/* A file in memory.  `name` is a plain file name such as "config.json".  The bytes are not copied: they stay the caller's and must live,
 * unchanged, as long as the source is used.  TDL_E_CONFLICT when the name was added before. */
TDL_API tdl_status tdl_source_add_memory(tdl_source* source, const char* name, size_t name_length, const void* data, uint64_t bytes, tdl_error* error);
/* A file that is part of another one: `bytes` bytes at `offset` of the file at `path`. */
TDL_API tdl_status tdl_source_add_range(tdl_source* source, const char* name, size_t name_length, const char* path, size_t path_length, uint64_t offset, uint64_t bytes, tdl_error* error);
/* Reads a whole file of the source into the caller's buffer.  *bytes becomes its size, also with TDL_E_BUFFER_TOO_SMALL (call with
 * capacity 0 to ask).  TDL_E_NOT_FOUND when there is no such file. */
TDL_API tdl_status tdl_source_read(const tdl_source* source, const char* name, size_t name_length, void* data, size_t capacity, size_t* bytes, tdl_error* error);
TDL_API void tdl_source_destroy(tdl_source* source);

#ifdef __cplusplus
}
#endif
#endif
