#include "runtime/tickets.h"

#include <algorithm>
#include <cstring>

#include "kernels/core/os.h"

namespace tdl {

Status Tickets::init(Device& device, Stream& stream, const Outputs& out, uint32_t max_outputs, uint32_t vocab_size, uint32_t hidden_size) {
  device_ = &device;
  stream_ = &stream;
  out_ = out;
  max_outputs_ = max_outputs;
  vocab_size_ = vocab_size;
  hidden_size_ = hidden_size;
  for (TicketRecord& record : records_) {
    TDL_ASSIGN(record.started, device.create_event());
    TDL_ASSIGN(record.done, device.create_event());
  }
  if (!device.host_view(out.logits.address)) {
    TDL_ASSIGN(reader_, device.create_stream());
    TDL_ASSIGN(copied_, device.create_event());
  }
  TDL_ASSIGN(results_, device.allocate_pinned(kTickets * result_bytes()));
  return {};
}

Result<uint32_t> Tickets::unfinished() {
  uint32_t count = 0;
  for (uint64_t ticket = last(), k = 0; ticket > 0 && k < 2; --ticket, ++k) {
    TDL_ASSIGN(const bool done, device_->done(*record(ticket).done));
    count += !done;
  }
  return count;
}

TicketRecord& Tickets::open(const void* pass, uint32_t outputs, uint32_t bucket, bool sampled) {
  const std::lock_guard lock(mutex_);
  const uint64_t ticket = last_.load(std::memory_order_relaxed) + 1;
  TicketRecord& record = records_[ticket % kTickets];
  record.ticket = ticket;
  record.outcome.store(0, std::memory_order_relaxed);
  record.pass = pass;
  record.outputs = outputs;
  record.bucket = bucket;
  record.replayed = false;
  record.sampled = sampled;
  record.enqueued = false;
  last_.store(ticket, std::memory_order_release);
  return record;
}

Status Tickets::end(TicketRecord& record) {
  std::byte* to = results_->data() + record.ticket % kTickets * result_bytes();
  if (record.outputs) TDL_TRY(device_->copy_to_host(to, out_.row_status.address, result_bytes(), *stream_));
  TDL_TRY(device_->record(*record.done, *stream_));
  record.enqueued = true;
  return {};
}

void Tickets::forget(const void* pass) {
  const std::lock_guard lock(mutex_);
  for (TicketRecord& record : records_) {
    if (record.pass == pass) record.pass = nullptr;
  }
}

Status Tickets::check_request(const ResultRequest* request, uint32_t outputs, bool sampled) const {
  if (!request || !request->wants_arrays()) return {};
  if (request->capacity < outputs)
    return fail(Code::buffer_too_small, "the result's arrays hold %u outputs, the pass has %u", request->capacity, outputs).needs(outputs);
  if (request->tokens && !sampled) return fail(Code::state, "the pass was begun with no_sample: it has no tokens");
  return {};
}

Status Tickets::check_ticket(uint64_t ticket, const ResultRequest* request) {
  const uint64_t newest = last();
  const TicketRecord& found = record(ticket);
  if (ticket == 0 || ticket > newest || (found.ticket == ticket && !found.enqueued))
    return fail(Code::invalid_argument, "ticket %llu was never given out", static_cast<unsigned long long>(ticket));
  if (found.ticket != ticket)
    return fail(Code::state, "the results of ticket %llu are gone, only those of the last %u are kept", static_cast<unsigned long long>(ticket), kTickets);
  if (request && (request->logits || request->hidden) && ticket != newest)
    return fail(Code::state, "logits and hidden of ticket %llu were overwritten by a later submit", static_cast<unsigned long long>(ticket));
  return check_request(request, found.outputs, found.sampled);
}

Status Tickets::copy_out(const TicketRecord& record, ResultRequest* request) {
  request->num_outputs = record.outputs;
  request->bucket = record.bucket;
  request->replayed = record.replayed;
  request->device_time_ns = device_->elapsed_ns(*record.started, *record.done);
  const std::byte* results = results_->data() + record.ticket % kTickets * result_bytes();
  if (request->row_status) std::memcpy(request->row_status, results, sizeof(int32_t) * record.outputs);
  if (request->tokens) std::memcpy(request->tokens, results + sizeof(int32_t) * max_outputs_, sizeof(uint32_t) * record.outputs);
  if (request->logits) TDL_TRY(read(request->logits, out_.logits.address, sizeof(float) * record.outputs * vocab_size_));
  if (request->hidden) TDL_TRY(read(request->hidden, out_.hidden.address, sizeof(float) * record.outputs * hidden_size_));
  return {};
}

// Nothing writes there now: the pass is done, and the next submit needs the mutex.
Status Tickets::read(void* to, uint64_t from, uint64_t bytes) {
  if (bytes == 0) return {};
  if (!reader_) {
    std::memcpy(to, device_->host_view(from), bytes);
    return {};
  }
  TDL_TRY(device_->copy_to_host(to, from, bytes, *reader_));
  TDL_TRY(device_->record(*copied_, *reader_));
  return device_->wait(*copied_, UINT64_MAX);
}

Status Tickets::wait(uint64_t ticket, uint64_t timeout_ns, ResultRequest* request) {
  const uint64_t begin = os::now_ns();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      TDL_TRY(check_ticket(ticket, request));  // again after every wait: a submit that came meanwhile may have made the results old
      const TicketRecord& found = record(ticket);
      TDL_ASSIGN(const bool done, device_->done(*found.done));
      if (done) {
        const auto outcome = static_cast<Code>(found.outcome.load(std::memory_order_acquire));
        if (outcome == Code::ok) return request ? copy_out(found, request) : Status();
        return fail(outcome, "the pass of ticket %llu %s", static_cast<unsigned long long>(ticket), outcome == Code::cancelled ? "was cancelled" : "failed");
      }
    }
    const uint64_t left = timeout_ns == UINT64_MAX ? UINT64_MAX : timeout_ns - std::min(timeout_ns, os::now_ns() - begin);
    TDL_TRY(device_->wait(*record(ticket).done, left));
  }
}

}  // namespace tdl
