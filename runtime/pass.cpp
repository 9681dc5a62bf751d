#include "runtime/pass.h"

#include <algorithm>

namespace tdl {
namespace {

template <class T>
T* in_staging(std::byte* staging, uint64_t offset) {
  return offset == kAbsent ? nullptr : reinterpret_cast<T*>(staging + offset);
}

Upload mapped_arrays(const GroupLayout& group, std::byte* staging) {
  Upload upload;
  upload.num_rows = group.max_rows;
  upload.num_seqs = group.max_seqs;
  upload.num_outputs = group.max_outputs;
  upload.max_blocks_per_seq = group.max_table;
  upload.token_ids = in_staging<uint32_t>(staging, group.token_ids);
  upload.token_from = in_staging<int32_t>(staging, group.token_from);
  upload.positions = in_staging<uint32_t>(staging, group.positions);
  upload.positions_h = in_staging<uint32_t>(staging, group.positions_h);
  upload.positions_w = in_staging<uint32_t>(staging, group.positions_w);
  upload.slot = in_staging<int64_t>(staging, group.slot);
  upload.seq_len = in_staging<uint32_t>(staging, group.seq_len);
  upload.block_table = in_staging<int32_t>(staging, group.block_table);
  upload.query_start = in_staging<uint32_t>(staging, group.query_start);
  upload.seq_slot = in_staging<int32_t>(staging, group.seq_slot);
  upload.moe_row_adapter = in_staging<int32_t>(staging, group.moe_row_adapter);
  upload.output_row = in_staging<int32_t>(staging, group.output_row);
  return upload;
}

}  // namespace

Result<std::unique_ptr<Pass>> Pass::begin(Engine& engine, const PassDesc& desc) {
  const EngineLimits& most = engine.limits_;
  if (desc.kind != 0 && desc.kind != 1) return fail(Code::invalid_argument, "pass kind %d is none", desc.kind);
  PassLimits limits{};
  limits.kind = static_cast<PassKind>(desc.kind);
  limits.max_seqs = desc.num_seqs ? desc.num_seqs : 1;
  limits.rows_per_seq = desc.rows_per_seq ? desc.rows_per_seq : 1;
  if (limits.max_seqs > most.max_seqs)
    return fail(Code::limit, "a pass of %u sequences, the engine was created for %u", limits.max_seqs, most.max_seqs).needs(limits.max_seqs);
  if (limits.kind == PassKind::decode) {
    if (limits.rows_per_seq > most.max_rows_per_seq)
      return fail(Code::limit, "%u rows per sequence, the engine was created for %u", limits.rows_per_seq, most.max_rows_per_seq).needs(limits.rows_per_seq);
    if (desc.max_rows) return fail(Code::invalid_argument, "max_rows %u on a decode pass, whose rows are num_seqs x rows_per_seq", desc.max_rows);
    limits.max_rows = limits.max_seqs * limits.rows_per_seq;
  } else {
    if (desc.rows_per_seq > 1) return fail(Code::invalid_argument, "rows_per_seq %u on a prefill pass, whose rows are ragged", desc.rows_per_seq);
    limits.max_rows = desc.max_rows ? desc.max_rows : most.max_prefill_rows;
    if (limits.max_rows > most.max_prefill_rows)
      return fail(Code::limit, "a prefill of %u rows, the engine was created for %u", limits.max_rows, most.max_prefill_rows).needs(limits.max_rows);
  }
  std::unique_ptr<Pass> pass(new Pass(engine, limits, desc.sample));
  if (limits.kind == PassKind::decode && most.graph_mode == GraphMode::on_demand) engine.capture(limits.rows_per_seq, limits.max_seqs);
  return pass;
}

Pass::~Pass() {
  if (engine_.fresh_ == this) engine_.fresh_ = nullptr;
  if (engine_.mapped_ == this) engine_.mapped_ = nullptr;
  engine_.tickets_.forget(this);
}

Status Pass::check_free() const {
  TDL_ASSIGN(const uint32_t unfinished, engine_.tickets_.unfinished());
  if (unfinished > 1)
    return fail(Code::busy, "two submits are unfinished; wait for ticket %llu first", static_cast<unsigned long long>(engine_.tickets_.last() - 1));
  // The next staging was used two uploads ago.  Its copy may stand behind the unfinished submit only if both uploads came after that one;
  // else nothing is in front of it, and it is done in no time.
  TDL_ASSIGN(const bool staging_free, engine_.block_->staging_free());
  if (staging_free) return {};
  if (unfinished && engine_.uploads_ > engine_.submitted_uploads_ + 1)
    return fail(Code::busy, "the staging still holds an upload that waits behind ticket %llu", static_cast<unsigned long long>(engine_.tickets_.last()));
  return engine_.block_->wait_staging();
}

// Arrays inside the staging are those of map(): each in its own place, mapped by this pass, not yet used.
Status Pass::check_mapped(const Upload& u) const {
  const Upload own = mapped_arrays(engine_.block_->group(limits_.kind), engine_.block_->staging());
  const void* const given[] = {u.token_ids, u.token_from, u.positions, u.positions_h, u.positions_w, u.slot, u.seq_len, u.block_table, u.query_start, u.seq_slot,
                               u.moe_row_adapter, u.output_row};
  const void* const place[] = {own.token_ids, own.token_from, own.positions, own.positions_h, own.positions_w, own.slot, own.seq_len, own.block_table,
                               own.query_start, own.seq_slot, own.moe_row_adapter, own.output_row};
  static constexpr const char* kNames[] = {"token_ids", "token_from", "positions", "positions_h", "positions_w", "slot", "seq_len", "block_table", "query_start",
                                           "seq_slot", "moe_row_adapter", "output_row"};
  for (size_t i = 0; i < std::size(given); ++i) {
    if (!given[i] || !engine_.block_->holds(given[i])) continue;
    if (engine_.mapped_ != this) return fail(Code::state, "%s lies in a staging that is no longer mapped by this pass", kNames[i]);
    if (given[i] != place[i]) return fail(Code::state, "%s is not the array that map gave for it", kNames[i]);
  }
  if (u.block_table && u.block_table == own.block_table && u.max_blocks_per_seq > own.max_blocks_per_seq)
    return fail(Code::range, "max_blocks_per_seq %u on a mapped block_table of stride %u", u.max_blocks_per_seq, own.max_blocks_per_seq);
  return {};
}

Result<Upload> Pass::map() {
  TDL_TRY(check_free());
  engine_.mapped_ = this;
  Upload arrays = mapped_arrays(engine_.block_->group(limits_.kind), engine_.block_->staging());
  arrays.num_rows = limits_.max_rows;
  arrays.num_seqs = limits_.max_seqs;
  arrays.num_outputs = std::min(arrays.num_outputs, limits_.max_rows);
  return arrays;
}

Result<uint32_t> Pass::count_outputs(const Upload& upload) const {
  TDL_TRY(check_counts(upload, limits_, engine_.step_limits_));
  return upload.output_row ? upload.num_outputs : upload.num_seqs;
}

Status Pass::upload(const Upload& upload) {
  const uint32_t* references = engine_.limits_.kv_mode == KvMode::pool ? engine_.pool_->references() : nullptr;
  TDL_TRY(check_free());
  TDL_TRY(check_mapped(upload));
  TDL_ASSIGN(const PassShape shape, validate(upload, limits_, engine_.step_limits_, engine_.previous_, references, *engine_.scratch_));
  const auto* output_row = reinterpret_cast<const int32_t*>(engine_.block_->staging() + engine_.block_->group(limits_.kind).output_row);
  engine_.fresh_ = engine_.mapped_ = nullptr;
  uint64_t bytes = 0;
  TDL_TRY(engine_.block_->upload(upload, limits_, shape, engine_.limits_.block_size, *engine_.stream_, &bytes));
  for (uint32_t o = 0; o < shape.outputs; ++o) engine_.fresh_live_outputs_[o] = output_row[o] >= 0;
  engine_.uploaded_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  ++engine_.uploads_;
  engine_.fresh_ = this;
  shape_ = shape;
  uploaded_ = true;
  return {};
}

Status Pass::check_fresh() const {
  if (engine_.fresh_ == this) return {};
  return fail(Code::state, uploaded_ ? "no upload since this pass's last submit, or another pass has uploaded since" : "nothing was uploaded to this pass");
}

Status Pass::run(TicketRecord& record, const ForwardArgs& args, const PassControl& control, const GraphKey& key) {
  Device& device = *engine_.device_;
  Stream& stream = *engine_.stream_;
  TDL_TRY(device.checkpoint(control, stream));
  Graph* graph = shape_.bucket && engine_.limits_.graph_mode != GraphMode::off ? engine_.graphs_.find(key, args) : nullptr;
  if (graph) {
    TDL_TRY(device.launch(*graph, stream));
    record.replayed = true;
  } else {
    TDL_TRY(forward(engine_.model_, args, &control, device, stream));
  }
  return sample_ ? tdl::sample(engine_.model_, args, device, stream) : Status();
}

Status Pass::enqueue(TicketRecord& record) {
  Device& device = *engine_.device_;
  Stream& stream = *engine_.stream_;
  const ForwardArgs args = engine_.forward_args(shape_);
  GraphKey key;
  key.bucket = shape_.bucket;
  key.rows_per_seq = shape_.rows_per_seq;
  key.outputs = shape_.every_row ? OutputsKind::every_row : OutputsKind::per_sequence;
  const PassControl control{&engine_.cancelled_through_, record.ticket, &record.outcome,
                            shape_.token_from ? &engine_.tickets_.record(record.ticket - 1).outcome : nullptr};
  TDL_TRY(device.record(*record.started, stream));
  const Status ran = run(record, args, control, key);
  if (!ran.ok()) record.outcome.store(static_cast<int32_t>(ran.code()), std::memory_order_release);
  const Status ended = device.end_pass(stream);
  const Status closed = engine_.tickets_.close(record);
  if (ran.code() != Code::cancelled) TDL_TRY(ran);  // a cancelled pass has its ticket, which says so
  TDL_TRY(ended);
  return closed;
}

Status Pass::submit(uint64_t* ticket) {
  TDL_TRY(check_fresh());
  TDL_ASSIGN(const uint32_t unfinished, engine_.tickets_.unfinished());
  if (unfinished > 1)
    return fail(Code::busy, "two submits are unfinished; wait for ticket %llu first", static_cast<unsigned long long>(engine_.tickets_.last() - 1));
  TicketRecord& record = engine_.tickets_.open(this, shape_.outputs, shape_.bucket, sample_);
  engine_.fresh_ = nullptr;
  engine_.submitted_uploads_ = engine_.uploads_;
  engine_.live_outputs_.swap(engine_.fresh_live_outputs_);
  engine_.previous_ = {sample_, shape_.outputs, engine_.live_outputs_.data()};
  TDL_TRY(enqueue(record));
  (record.replayed ? engine_.replays_ : engine_.eager_).fetch_add(1, std::memory_order_relaxed);
  engine_.passes_.fetch_add(1, std::memory_order_relaxed);
  engine_.rows_.fetch_add(shape_.rows, std::memory_order_relaxed);
  *ticket = record.ticket;
  return {};
}

Status Pass::step(ResultRequest* request) {
  TDL_TRY(check_fresh());
  TDL_TRY(engine_.tickets_.check_request(request, shape_.outputs, sample_));
  uint64_t ticket = 0;
  TDL_TRY(submit(&ticket));
  return engine_.wait(ticket, UINT64_MAX, request);
}

Status Pass::sample(ResultRequest* request) {
  TDL_ASSIGN(const uint32_t outputs, outputs_to_sample());
  const uint64_t ticket = engine_.tickets_.last();
  TDL_TRY(engine_.tickets_.check_request(request, outputs, true));
  TDL_TRY(engine_.tickets_.sample_again(engine_.tickets_.record(ticket), [this] {
    return tdl::sample(engine_.model_, engine_.forward_args(shape_), *engine_.device_, *engine_.stream_);
  }));
  engine_.previous_.sampled = true;
  return engine_.wait(ticket, UINT64_MAX, request);
}

Result<uint32_t> Pass::outputs_to_sample() const {
  const uint64_t ticket = engine_.tickets_.last();
  const TicketRecord& record = engine_.tickets_.record(ticket);
  if (ticket == 0 || record.pass != this) return fail(Code::state, "the engine's last submit was not this pass's");
  if (engine_.uploads_ != engine_.submitted_uploads_) return fail(Code::state, "an upload has come since the submit; sample before it");
  if (sample_) return fail(Code::state, "the pass samples by itself; begin it with no_sample to sample later");
  return record.outputs;
}

Result<MetadataView> Pass::view() const {
  if (!uploaded_) return fail(Code::state, "nothing was uploaded to this pass");
  const GroupLayout& group = engine_.block_->group(limits_.kind);
  MetadataView view{};
  view.meta = attn_metadata(shape_, group, engine_.block_->address());
  view.rows = shape_.padded_rows;
  view.token_ids = engine_.block_->address() + group.token_ids;
  view.logits = engine_.outputs_.logits.address;
  view.tokens = engine_.outputs_.tokens.address;
  view.hidden = engine_.outputs_.hidden.address;
  return view;
}

}  // namespace tdl
