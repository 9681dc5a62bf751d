// Tickets: the last submits, whether they are finished, and their results.  The submitting thread opens records; any thread waits.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/device.h"
#include "runtime/model/forward.h"
#include "runtime/plan.h"

namespace tdl {

// What a caller wants of a finished pass (tdl_step_result); null arrays are not wanted.  All arrays hold `capacity` outputs.
struct ResultRequest {
  uint32_t capacity = 0;
  int32_t* row_status = nullptr;
  uint32_t* tokens = nullptr;
  float* logits = nullptr;
  float* hidden = nullptr;
  uint32_t num_outputs = 0, bucket = 0;  // out
  bool replayed = false;                 // out
  uint64_t device_time_ns = 0;           // out

  bool wants_arrays() const { return row_status || tokens || logits || hidden; }
};

struct TicketRecord {
  uint64_t ticket = 0;                // 0 = never used
  std::atomic<int32_t> outcome{0};    // Code of the pass; written by the device as well
  std::unique_ptr<Event> started, done;
  const void* pass = nullptr;         // whose submit it was; compared only
  uint32_t outputs = 0, bucket = 0;
  bool replayed = false, sampled = false;
  bool enqueued = false;              // `done` was recorded for this ticket: before that nobody can wait for it
};

class Tickets {
 public:
  Tickets() = default;
  Status init(Device& device, Stream& stream, const Outputs& out, uint32_t max_outputs, uint32_t vocab_size, uint32_t hidden_size);

  // ---- the submitting thread ----
  uint64_t last() const { return last_.load(std::memory_order_acquire); }
  TicketRecord& record(uint64_t ticket) { return records_[ticket % kTickets]; }
  // How many of the last two submits are unfinished; more than two never are.
  Result<uint32_t> unfinished();
  // A new record, for the submit that follows.
  TicketRecord& open(const void* pass, uint32_t outputs, uint32_t bucket, bool sampled);
  // Enqueues the copy of row status and tokens to the record's place and the event that ends it.
  Status close(TicketRecord& record) {
    const std::lock_guard lock(mutex_);
    return end(record);
  }
  // The submit's record takes tokens that `enqueue` samples now, behind the pass.  Who waits for it meanwhile sees it pending again.
  template <class Enqueue>
  Status sample_again(TicketRecord& record, Enqueue&& enqueue) {
    const std::lock_guard lock(mutex_);
    TDL_TRY(enqueue());
    record.sampled = true;
    return end(record);
  }
  // The pass is gone: none of its submits is anybody's.
  void forget(const void* pass);
  // Refuses what wait() would have to refuse for such a record.
  Status check_request(const ResultRequest* request, uint32_t outputs, bool sampled) const;

  // ---- any thread ----
  Status wait(uint64_t ticket, uint64_t timeout_ns, ResultRequest* request);

 private:
  Status check_ticket(uint64_t ticket, const ResultRequest* request);
  Status end(TicketRecord& record);
  Status copy_out(const TicketRecord& record, ResultRequest* request);
  Status read(void* to, uint64_t from, uint64_t bytes);
  uint64_t result_bytes() const { return uint64_t{max_outputs_} * (sizeof(int32_t) + sizeof(uint32_t)); }

  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  Outputs out_;
  uint32_t max_outputs_ = 0, vocab_size_ = 0, hidden_size_ = 0;
  std::mutex mutex_;  // record contents other than outcome and events, and the logits: between a wait and the next submit
  std::atomic<uint64_t> last_{0};
  TicketRecord records_[kTickets];
  std::unique_ptr<PinnedMemory> results_;  // [kTickets][row_status max_outputs, tokens max_outputs]
  // Of read(), under the mutex, where the host does not see device memory: the engine's stream is the submitting thread's alone.
  std::unique_ptr<Stream> reader_;
  std::unique_ptr<Event> copied_;
};

}  // namespace tdl
