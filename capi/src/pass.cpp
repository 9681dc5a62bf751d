#include "treadle/pass.h"

#include "capi/src/boundary.h"
#include "capi/src/handles.h"
#include "capi/src/metadata.h"

namespace {

using namespace tdl;
using namespace tdl::abi;

static_assert(TDL_PASS_DECODE == static_cast<int>(PassKind::decode) && TDL_PASS_PREFILL == static_cast<int>(PassKind::prefill));
static_assert(TDL_ADAPTER_BASE == kAdapterBase && TDL_ADAPTER_ACTIVE == kAdapterActive && TDL_NO_TOKEN == kNoToken);

// Goes inside the pass's engine and runs `body` with the pass.
template <class Body>
Status inside(tdl_pass* pass, Body&& body) {
  TDL_TRY(check_handle(pass, "tdl_pass"));
  const PassEntry* const entry = pass->entry;  // once inside, the entry stays; the handle may be ended by another thread
  TDL_ASSIGN(Call call, Call::enter(pass->shell));
  return body(*entry->pass);
}

// Runs `body` with the request that `result` amounts to and writes the outcome back; result may be null.
template <class Body>
Status with_result(tdl_step_result* result, Body&& body) {
  if (!result) return body(nullptr);
  tdl_step_result local;
  TDL_TRY(read_struct(result, &local, "tdl_step_result"));
  if (local.token_logprobs || local.top_tokens || local.top_logprobs) return fail(Code::unsupported, "log-probabilities are not there yet");
  ResultRequest request;
  request.capacity = local.capacity;
  request.row_status = local.row_status;
  request.tokens = local.tokens;
  request.logits = local.logits;
  request.hidden = local.hidden;
  const Status status = body(&request);
  if (status.code() == Code::buffer_too_small) {
    local.num_outputs = static_cast<uint32_t>(status.required());
    write_struct(result, local);
  }
  TDL_TRY(status);
  local.num_outputs = request.num_outputs;
  local.bucket = request.bucket;
  local.replayed = request.replayed;
  local.device_time_ns = request.device_time_ns;
  write_struct(result, local);
  return {};
}

}  // namespace

extern "C" {

void tdl_pass_desc_init(tdl_pass_desc* desc, size_t struct_size) { init_struct(desc, struct_size); }
void tdl_sampling_init(tdl_sampling* sampling, size_t struct_size) { init_struct(sampling, struct_size); }
void tdl_metadata_init(tdl_metadata* metadata, size_t struct_size) { init_struct(metadata, struct_size); }
void tdl_step_result_init(tdl_step_result* result, size_t struct_size) { init_struct(result, struct_size); }
void tdl_metadata_view_init(tdl_metadata_view* view, size_t struct_size) { init_struct(view, struct_size); }

tdl_status tdl_pass_begin(tdl_engine* engine, const tdl_pass_desc* desc, tdl_pass** pass, tdl_error* error) {
  return guarded(error, [&]() -> Status {
    TDL_TRY(check_handle(engine, "tdl_engine"));
    if (!pass) return fail(Code::invalid_argument, "pass is null");
    tdl_pass_desc d;
    TDL_TRY(read_struct(desc, &d, "tdl_pass_desc"));
    auto handle = std::make_unique<tdl_pass>();
    handle->shell = engine->shell;
    TDL_ASSIGN(Call call, Call::enter(engine->shell));
    TDL_ASSIGN(std::unique_ptr<Pass> begun, Pass::begin(call.engine(), {d.kind, d.num_seqs, d.rows_per_seq, d.max_rows, d.no_sample == 0}));
    TDL_ASSIGN(handle->entry, handle->shell->add(std::move(begun)));
    *pass = handle.release();
    return {};
  });
}

tdl_status tdl_upload_metadata(tdl_pass* pass, const tdl_metadata* metadata, tdl_error* error) {
  return guarded(error, [&] {
    return inside(pass, [&](Pass& p) -> Status {
      TDL_ASSIGN(const Upload upload, read_metadata(metadata));
      TDL_ASSIGN(const uint32_t outputs, p.count_outputs(upload));
      TDL_TRY(check_sampling(metadata, outputs));
      return p.upload(upload);
    });
  });
}

tdl_status tdl_pass_map(tdl_pass* pass, tdl_metadata* staging, tdl_error* error) {
  return guarded(error, [&] {
    return inside(pass, [&](Pass& p) -> Status {
      tdl_metadata out;
      TDL_TRY(read_struct(staging, &out, "tdl_metadata"));
      TDL_ASSIGN(const Upload arrays, p.map());
      write_struct(staging, mapped_metadata(arrays));
      return {};
    });
  });
}

tdl_status tdl_submit(tdl_pass* pass, uint64_t* ticket, tdl_error* error) {
  return guarded(error, [&] {
    return inside(pass, [&](Pass& p) -> Status {
      if (!ticket) return fail(Code::invalid_argument, "ticket is null");
      return p.submit(ticket);
    });
  });
}

tdl_status tdl_wait(tdl_engine* engine, uint64_t ticket, uint64_t timeout_ns, tdl_step_result* result, tdl_error* error) {
  bool pending = false;
  const tdl_status status = guarded(error, [&]() -> Status {
    TDL_TRY(check_handle(engine, "tdl_engine"));
    TDL_ASSIGN(const std::shared_ptr<Engine> shared, engine->shell->share());
    const Status waited = with_result(result, [&](ResultRequest* request) { return shared->wait(ticket, timeout_ns, request); });
    pending = waited.code() == Code::pending;
    return pending ? Status() : waited;
  });
  return pending ? TDL_PENDING : status;
}

tdl_status tdl_step(tdl_pass* pass, tdl_step_result* result, tdl_error* error) {
  return guarded(error, [&] {
    return inside(pass, [&](Pass& p) { return with_result(result, [&](ResultRequest* request) { return p.step(request); }); });
  });
}

tdl_status tdl_sample(tdl_pass* pass, const tdl_metadata* sampling, tdl_step_result* result, tdl_error* error) {
  return guarded(error, [&] {
    return inside(pass, [&](Pass& p) -> Status {
      TDL_ASSIGN(const uint32_t outputs, p.outputs_to_sample());
      if (sampling) TDL_TRY(check_sampling(sampling, outputs));
      return with_result(result, [&](ResultRequest* request) { return p.sample(request); });
    });
  });
}

tdl_status tdl_pass_get_view(tdl_pass* pass, tdl_metadata_view* view, tdl_error* error) {
  return guarded(error, [&] {
    return inside(pass, [&](Pass& p) -> Status {
      tdl_metadata_view out;
      TDL_TRY(read_struct(view, &out, "tdl_metadata_view"));
      TDL_ASSIGN(const MetadataView seen, p.view());
      write_struct(view, metadata_view(seen));
      return {};
    });
  });
}

void tdl_pass_end(tdl_pass* pass) {
  if (!check_handle(pass, "tdl_pass").ok() || !pass->shell->ours()) return;
  pass->shell->end(pass->entry);
  pass->kind = Kind{};
  delete pass;
}

}  // extern "C"
