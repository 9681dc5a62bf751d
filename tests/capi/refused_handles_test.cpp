// Refused handles: null, of another kind, children of a destroyed engine; and null arguments of every function.
#include <doctest/doctest.h>

#include "tests/capi/bad_call.h"

namespace {

using namespace tdl::test;

// Every function by the handle that it takes first, with good arguments otherwise.
struct Function {
  std::string name;
  std::function<tdl_status(Rig&, void* handle, tdl_error*)> call;
};

tdl_engine* engine_of(void* handle) { return static_cast<tdl_engine*>(handle); }
tdl_pass* pass_of(void* handle) { return static_cast<tdl_pass*>(handle); }
tdl_source* source_of(void* handle) { return static_cast<tdl_source*>(handle); }
tdl_sequence* sequence_of(void* handle) { return static_cast<tdl_sequence*>(handle); }

tdl_pass_desc small_pass() {
  tdl_pass_desc desc;
  tdl_pass_desc_init(&desc, sizeof desc);
  return desc;
}
tdl_adapter_desc some_adapter() {
  tdl_adapter_desc desc;
  tdl_adapter_desc_init(&desc, sizeof desc);
  desc.path = "adapter";
  desc.path_length = 7;
  return desc;
}
tdl_adapter_info adapter_info() {
  tdl_adapter_info info;
  tdl_adapter_info_init(&info, sizeof info);
  return info;
}
tdl_sequence_desc some_sequence() {
  tdl_sequence_desc desc;
  tdl_sequence_desc_init(&desc, sizeof desc);
  return desc;
}

const tdl_pass_desc kPass = small_pass();
const tdl_adapter_desc kAdapter = some_adapter();
const tdl_sequence_desc kSequence = some_sequence();
const int32_t kFrom[] = {3}, kTo[] = {9};

tdl_status adapter_load(void* handle, tdl_error* e) {
  tdl_adapter_info info = adapter_info();
  return tdl_adapter_load(engine_of(handle), &kAdapter, &info, e);
}
tdl_status adapter_get_info(void* handle, tdl_error* e) {
  tdl_adapter_info info = adapter_info();
  return tdl_adapter_get_info(engine_of(handle), 0, &info, e);
}

const std::vector<Function> kAdapters = {
    {"tdl_adapter_load", [](Rig&, void* h, tdl_error* e) { return adapter_load(h, e); }},
    {"tdl_adapter_unload", [](Rig&, void* h, tdl_error* e) { return tdl_adapter_unload(engine_of(h), 0, e); }},
    {"tdl_adapter_set_active", [](Rig&, void* h, tdl_error* e) { return tdl_adapter_set_active(engine_of(h), TDL_ADAPTER_BASE, e); }},
    {"tdl_adapter_get_info", [](Rig&, void* h, tdl_error* e) { return adapter_get_info(h, e); }},
    {"tdl_sequence_create", [](Rig& r, void* h, tdl_error* e) { return tdl_sequence_create(engine_of(h), &kSequence, &r.out.sequence, e); }},
    {"tdl_advance", [](Rig&, void* h, tdl_error* e) { return tdl_advance(engine_of(h), nullptr, nullptr, 0, nullptr, e); }},
};
const std::vector<Function> kEngines = {
    {"tdl_engine_get_info", [](Rig& r, void* h, tdl_error* e) { return tdl_engine_get_info(engine_of(h), &r.out.info, e); }},
    {"tdl_engine_get_stats", [](Rig& r, void* h, tdl_error* e) { return tdl_engine_get_stats(engine_of(h), &r.out.stats, e); }},
    {"tdl_pass_begin", [](Rig& r, void* h, tdl_error* e) { return tdl_pass_begin(engine_of(h), &kPass, &r.out.pass, e); }},
    {"tdl_wait", [](Rig& r, void* h, tdl_error* e) { return tdl_wait(engine_of(h), 1, 0, &r.out.result, e); }},
    {"tdl_kv_alloc", [](Rig& r, void* h, tdl_error* e) { return tdl_kv_alloc(engine_of(h), r.out.blocks, 1, e); }},
    {"tdl_kv_retain", [](Rig&, void* h, tdl_error* e) { return tdl_kv_retain(engine_of(h), kFrom, 1, e); }},
    {"tdl_kv_release", [](Rig&, void* h, tdl_error* e) { return tdl_kv_release(engine_of(h), kFrom, 1, e); }},
    {"tdl_kv_copy", [](Rig&, void* h, tdl_error* e) { return tdl_kv_copy(engine_of(h), kFrom, kTo, 1, e); }},
};
const std::vector<Function> kPasses = {
    {"tdl_upload_metadata", [](Rig& r, void* h, tdl_error* e) { return tdl_upload_metadata(pass_of(h), &r.in.m, e); }},
    {"tdl_pass_map", [](Rig& r, void* h, tdl_error* e) { return tdl_pass_map(pass_of(h), &r.out.mapped, e); }},
    {"tdl_submit", [](Rig& r, void* h, tdl_error* e) { return tdl_submit(pass_of(h), &r.out.ticket, e); }},
    {"tdl_step", [](Rig& r, void* h, tdl_error* e) { return tdl_step(pass_of(h), &r.out.result, e); }},
    {"tdl_sample", [](Rig& r, void* h, tdl_error* e) { return tdl_sample(pass_of(h), nullptr, &r.out.result, e); }},
    {"tdl_pass_get_view", [](Rig& r, void* h, tdl_error* e) { return tdl_pass_get_view(pass_of(h), &r.out.view, e); }},
};
const std::vector<Function> kSources = {
    {"tdl_source_add_directory", [](Rig&, void* h, tdl_error* e) { return tdl_source_add_directory(source_of(h), "/", 1, e); }},
    {"tdl_source_add_memory", [](Rig&, void* h, tdl_error* e) { return tdl_source_add_memory(source_of(h), "a", 1, "b", 1, e); }},
    {"tdl_source_add_range", [](Rig&, void* h, tdl_error* e) { return tdl_source_add_range(source_of(h), "a", 1, "/", 1, 0, 0, e); }},
    {"tdl_source_read", [](Rig& r, void* h, tdl_error* e) { return tdl_source_read(source_of(h), "a", 1, r.out.text, 9, &r.out.bytes, e); }},
};
const std::vector<Function> kSequences = {
    {"tdl_sequence_append", [](Rig&, void* h, tdl_error* e) { return tdl_sequence_append(sequence_of(h), nullptr, 0, e); }},
    {"tdl_sequence_fork", [](Rig& r, void* h, tdl_error* e) { return tdl_sequence_fork(sequence_of(h), &r.out.sequence, e); }},
    {"tdl_sequence_truncate", [](Rig&, void* h, tdl_error* e) { return tdl_sequence_truncate(sequence_of(h), 0, e); }},
};

// One row per function; `handle` finds the bad handle on the rig.
std::vector<BadCall> rows(const std::string& what, const std::vector<Function>& functions, const std::function<void*(Rig&)>& handle, tdl_status status,
                          const Change& change = nullptr) {
  std::vector<BadCall> calls;
  for (const Function& f : functions)
    calls.push_back({f.name + " " + what, change, [=, call = f.call](Rig& r, tdl_error* e) { return call(r, handle(r), e); }, status});
  return calls;
}

void* null(Rig&) { return nullptr; }
void* pass(Rig& r) { return r.decode.get(); }
void* engine(Rig& r) { return r.engine.get(); }

}  // namespace

TEST_CASE("refuses null in place of a handle") {
  for (const auto* functions : {&kEngines, &kAdapters, &kPasses, &kSources, &kSequences}) check_refused(rows("of null", *functions, null, TDL_E_INVALID_ARGUMENT));
  tdl_engine_destroy(nullptr);  // which destroying takes
  tdl_engine_cancel(nullptr);
  tdl_pass_end(nullptr);
  tdl_source_destroy(nullptr);
  tdl_sequence_destroy(nullptr);
}

TEST_CASE("refuses a handle of another kind") {
  tdl_source* other = nullptr;
  REQUIRE(tdl_source_create(&other, nullptr) == TDL_OK);
  const SourceHandle owner(other);
  const auto source = [other](Rig&) -> void* { return other; };
  for (const auto* functions : {&kEngines, &kAdapters}) {
    check_refused(rows("of a pass", *functions, pass, TDL_E_INVALID_ARGUMENT));
    check_refused(rows("of a source", *functions, source, TDL_E_INVALID_ARGUMENT));
  }
  check_refused(rows("of an engine", kPasses, engine, TDL_E_INVALID_ARGUMENT));
  check_refused(rows("of a source", kPasses, source, TDL_E_INVALID_ARGUMENT));
  check_refused(rows("of an engine", kSources, engine, TDL_E_INVALID_ARGUMENT));
  check_refused(rows("of a pass", kSources, pass, TDL_E_INVALID_ARGUMENT));
  Rig rig(TDL_KV_CALLER);  // destroying one does nothing
  tdl_engine_destroy(engine_of(pass(rig)));
  tdl_engine_cancel(engine_of(other));
  tdl_pass_end(pass_of(engine(rig)));
  tdl_source_destroy(source_of(pass(rig)));
  rig.check_works();
}

TEST_CASE("refuses the passes of a destroyed engine, whatever they had begun") {
  const auto destroy = [](Rig& r) { r.engine.reset(); };
  check_refused(rows("after its engine", kPasses, pass, TDL_E_STATE, destroy));
  check_refused(rows("uploaded, after its engine", kPasses, pass, TDL_E_STATE, [](Rig& r) { r.upload(), r.engine.reset(); }));
  check_refused(rows("in flight, after its engine", kPasses, pass, TDL_E_STATE, [](Rig& r) { r.upload(), r.submit(), r.engine.reset(); }));
}

TEST_CASE("refuses adapters and sequences, which are not there yet") {
  check_refused(rows("", kAdapters, engine, TDL_E_UNSUPPORTED));
}

TEST_CASE("refuses null arguments") {
  std::vector<BadCall> calls;
  const auto add = [&calls](const char* name, CallOn call) { calls.push_back({name, nullptr, std::move(call), TDL_E_INVALID_ARGUMENT}); };
  add("tdl_source_create source", [](Rig&, tdl_error* e) { return tdl_source_create(nullptr, e); });
  add("tdl_engine_plan config", [](Rig& r, tdl_error* e) { return tdl_engine_plan(nullptr, &r.out.plan, e); });
  add("tdl_engine_create config", [](Rig& r, tdl_error* e) { return tdl_engine_create(nullptr, &r.out.engine, e); });
  add("tdl_engine_get_info info", [](Rig& r, tdl_error* e) { return tdl_engine_get_info(r.engine.get(), nullptr, e); });
  add("tdl_engine_get_stats stats", [](Rig& r, tdl_error* e) { return tdl_engine_get_stats(r.engine.get(), nullptr, e); });
  add("tdl_pass_begin desc", [](Rig& r, tdl_error* e) { return tdl_pass_begin(r.engine.get(), nullptr, &r.out.pass, e); });
  add("tdl_pass_begin pass", [](Rig& r, tdl_error* e) { return tdl_pass_begin(r.engine.get(), &kPass, nullptr, e); });
  add("tdl_upload_metadata metadata", [](Rig& r, tdl_error* e) { return tdl_upload_metadata(r.pass, nullptr, e); });
  add("tdl_pass_map staging", [](Rig& r, tdl_error* e) { return tdl_pass_map(r.pass, nullptr, e); });
  add("tdl_submit ticket", [](Rig& r, tdl_error* e) { return tdl_submit(r.pass, nullptr, e); });
  add("tdl_pass_get_view view", [](Rig& r, tdl_error* e) { return tdl_pass_get_view(r.prefill.get(), nullptr, e); });
  add("tdl_kv_alloc blocks", [](Rig& r, tdl_error* e) { return tdl_kv_alloc(r.engine.get(), nullptr, 1, e); });
  add("tdl_kv_retain blocks", [](Rig& r, tdl_error* e) { return tdl_kv_retain(r.engine.get(), nullptr, 1, e); });
  add("tdl_kv_release blocks", [](Rig& r, tdl_error* e) { return tdl_kv_release(r.engine.get(), nullptr, 1, e); });
  add("tdl_kv_copy from", [](Rig& r, tdl_error* e) { return tdl_kv_copy(r.engine.get(), nullptr, kTo, 1, e); });
  add("tdl_kv_copy to", [](Rig& r, tdl_error* e) { return tdl_kv_copy(r.engine.get(), kFrom, nullptr, 1, e); });
  check_refused(calls);
  const CallOn submit = [](Rig& r, tdl_error* e) { return tdl_submit(r.pass, nullptr, e); };
  check_refused({{"tdl_submit ticket, after an upload", [](Rig& r) { r.upload(); }, submit, TDL_E_INVALID_ARGUMENT}});
}
