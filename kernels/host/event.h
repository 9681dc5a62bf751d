// A point in a host stream, and when it was passed.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "kernels/device.h"
#include "kernels/host/op.h"

namespace tdl::host {

// Recorded and reached records are counted: the event is done when the latest record has been reached.
class HostEvent final : public Event {
 public:
  ~HostEvent() override;  // no thread may be in wait, no record may be pending

  uint64_t begin_record() { return recorded_.fetch_add(1) + 1; }  // the event is pending from here; returns the record's number
  void reach(uint64_t record);                                    // the stream has come to that record

  bool done() const { return reached_.load() >= recorded_.load(); }
  Status wait(uint64_t timeout_ns) const;       // any thread; see Device::wait
  uint64_t time_ns() const { return time_ns_.load(); }

 private:
  std::atomic<uint64_t> recorded_{0}, reached_{0}, time_ns_{0};
  mutable std::mutex mutex_;  // held while reached_ changes
  mutable std::condition_variable changed_;
};

struct RecordArgs {
  HostEvent* event;
  uint64_t record;
};
void record(const RecordArgs& args, Pool& pool);

}  // namespace tdl::host
