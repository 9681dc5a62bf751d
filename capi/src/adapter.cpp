#include "treadle/adapter.h"

#include "capi/src/boundary.h"
#include "capi/src/handles.h"

namespace {

using namespace tdl;
using namespace tdl::abi;

// Adapters come with a later version; a bad handle is told apart all the same.
tdl_status unsupported(tdl_engine* engine, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_handle(engine, "tdl_engine"));
    TDL_ASSIGN(const std::shared_ptr<Engine> shared, engine->shell->share());
    return fail(Code::unsupported, "LoRA adapters are not there yet");
  });
}

}  // namespace

extern "C" {

void tdl_adapter_desc_init(tdl_adapter_desc* desc, size_t struct_size) { init_struct(desc, struct_size); }
void tdl_adapter_info_init(tdl_adapter_info* info, size_t struct_size) { init_struct(info, struct_size); }

tdl_status tdl_adapter_load(tdl_engine* engine, const tdl_adapter_desc*, tdl_adapter_info*, tdl_error* error) { return unsupported(engine, error); }
tdl_status tdl_adapter_unload(tdl_engine* engine, int32_t, tdl_error* error) { return unsupported(engine, error); }
tdl_status tdl_adapter_set_active(tdl_engine* engine, int32_t, tdl_error* error) { return unsupported(engine, error); }
tdl_status tdl_adapter_get_info(tdl_engine* engine, int32_t, tdl_adapter_info*, tdl_error* error) { return unsupported(engine, error); }

}  // extern "C"
