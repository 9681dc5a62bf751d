#include "treadle/source.h"

#include <new>

#include "capi/src/boundary.h"
#include "capi/src/handles.h"

namespace {

using namespace tdl;
using namespace tdl::abi;

Status check_source(const tdl_source* source) { return check_handle(source, "tdl_source"); }

}  // namespace

extern "C" {

tdl_status tdl_source_create(tdl_source** source, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    if (!source) return fail(Code::invalid_argument, "source is null");
    *source = new tdl_source;
    return {};
  });
}

tdl_status tdl_source_add_directory(tdl_source* source, const char* path, size_t length, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_source(source));
    TDL_TRY(check_string(path, length, "path"));
    return source->source.add_directory({path, length});
  });
}

tdl_status tdl_source_add_memory(tdl_source* source, const char* name, size_t name_length, const void* data, uint64_t bytes, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_source(source));
    TDL_TRY(check_string(name, name_length, "name"));
    if (!data && bytes) return fail(Code::invalid_argument, "data is null with %llu bytes", static_cast<unsigned long long>(bytes));
    return source->source.add_memory({name, name_length}, data, bytes);
  });
}

tdl_status tdl_source_add_range(tdl_source* source, const char* name, size_t name_length, const char* path, size_t path_length, uint64_t offset,
                                uint64_t bytes, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_source(source));
    TDL_TRY(check_string(name, name_length, "name"));
    TDL_TRY(check_string(path, path_length, "path"));
    return source->source.add_range({name, name_length}, {path, path_length}, offset, bytes);
  });
}

tdl_status tdl_source_read(const tdl_source* source, const char* name, size_t name_length, void* data, size_t capacity, size_t* bytes, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_source(source));
    TDL_TRY(check_string(name, name_length, "name"));
    if (!bytes) return fail(Code::invalid_argument, "bytes is null");
    if (!data && capacity) return fail(Code::invalid_argument, "data is null with capacity %zu", capacity);
    TDL_ASSIGN(const SourceFile file, source->source.open({name, name_length}));
    if (file.bytes() > SIZE_MAX) return fail(Code::limit, "the file does not fit this machine's memory");
    if (file.bytes() > capacity) {
      *bytes = static_cast<size_t>(file.bytes());
      return fail(Code::buffer_too_small, "'%.*s' has %zu bytes, the buffer %zu", static_cast<int>(name_length < 100 ? name_length : 100), name, *bytes, capacity).needs(*bytes);
    }
    TDL_TRY(file.read(0, data, file.bytes()));
    *bytes = static_cast<size_t>(file.bytes());
    return {};
  });
}

void tdl_source_destroy(tdl_source* source) {
  if (!check_source(source).ok()) return;
  source->kind = Kind{};
  delete source;
}

}  // extern "C"
