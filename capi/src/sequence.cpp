#include "treadle/sequence.h"

#include "capi/src/boundary.h"
#include "capi/src/handles.h"

namespace {

using namespace tdl;
using namespace tdl::abi;

// Sequences come with a later version: none can be created, so no handle of one can be good.
tdl_status unsupported(tdl_engine* engine, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_handle(engine, "tdl_engine"));
    TDL_ASSIGN(const std::shared_ptr<Engine> shared, engine->shell->share());
    return fail(Code::unsupported, "sequences are not there yet");
  });
}

tdl_status no_sequence(const tdl_sequence* sequence, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    if (!sequence) return fail(Code::invalid_argument, "sequence is null");
    return fail(Code::unsupported, "sequences are not there yet");
  });
}

}  // namespace

extern "C" {

void tdl_sequence_desc_init(tdl_sequence_desc* desc, size_t struct_size) { init_struct(desc, struct_size); }
void tdl_advance_desc_init(tdl_advance_desc* desc, size_t struct_size) { init_struct(desc, struct_size); }
void tdl_sequence_event_init(tdl_sequence_event* event, size_t struct_size) { init_struct(event, struct_size); }

tdl_status tdl_sequence_create(tdl_engine* engine, const tdl_sequence_desc*, tdl_sequence**, tdl_error* error) { return unsupported(engine, error); }
tdl_status tdl_sequence_append(tdl_sequence* sequence, const uint32_t*, uint32_t, tdl_error* error) { return no_sequence(sequence, error); }
tdl_status tdl_sequence_fork(tdl_sequence* sequence, tdl_sequence**, tdl_error* error) { return no_sequence(sequence, error); }
tdl_status tdl_sequence_truncate(tdl_sequence* sequence, uint32_t, tdl_error* error) { return no_sequence(sequence, error); }
void tdl_sequence_destroy(tdl_sequence*) {}

tdl_status tdl_advance(tdl_engine* engine, const tdl_advance_desc*, tdl_sequence* const*, uint32_t, tdl_sequence_event*, tdl_error* error) {
  return unsupported(engine, error);
}

}  // extern "C"
