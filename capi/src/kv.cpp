#include "treadle/kv.h"

#include "capi/src/boundary.h"
#include "capi/src/handles.h"

namespace {

using namespace tdl;
using namespace tdl::abi;

// Goes inside the engine and runs `body`; arrays may be null only when `count` is 0.
template <class Body>
tdl_status with_blocks(tdl_engine* engine, bool arrays_given, uint32_t count, tdl_error* error, Body&& body) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_handle(engine, "tdl_engine"));
    if (!arrays_given && count) return fail(Code::invalid_argument, "blocks is null with count %u", count);
    TDL_ASSIGN(Call call, Call::enter(engine->shell));
    return body(call.engine());
  });
}

}  // namespace

extern "C" {

tdl_status tdl_kv_alloc(tdl_engine* engine, int32_t* blocks, uint32_t count, tdl_error* error) {
  return with_blocks(engine, blocks, count, error, [&](Engine& e) { return e.kv_alloc(blocks, count); });
}

tdl_status tdl_kv_retain(tdl_engine* engine, const int32_t* blocks, uint32_t count, tdl_error* error) {
  return with_blocks(engine, blocks, count, error, [&](Engine& e) { return e.kv_retain(blocks, count); });
}

tdl_status tdl_kv_release(tdl_engine* engine, const int32_t* blocks, uint32_t count, tdl_error* error) {
  return with_blocks(engine, blocks, count, error, [&](Engine& e) { return e.kv_release(blocks, count); });
}

tdl_status tdl_kv_copy(tdl_engine* engine, const int32_t* from, const int32_t* to, uint32_t count, tdl_error* error) {
  return with_blocks(engine, from && to, count, error, [&](Engine& e) { return e.kv_copy(from, to, count); });
}

}  // extern "C"
