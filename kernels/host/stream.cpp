#include "kernels/host/stream.h"

#include <cfenv>
#include <utility>

#include "kernels/host/pool.h"

namespace tdl::host {
namespace {

// Whether the pass ends here; its outcome says why.
bool ends(const PassControl& control) {
  int32_t reason = 0;
  if (control.cancelled_through->load() >= control.ticket) reason = static_cast<int32_t>(Code::cancelled);
  else if (control.depends_on) reason = control.depends_on->load();
  int32_t outcome = 0;
  if (reason == 0) return control.outcome->load() != 0;
  control.outcome->compare_exchange_strong(outcome, reason);  // the first failure stays
  return true;
}

}  // namespace

Result<std::unique_ptr<HostStream>> HostStream::create(Pool& pool) {
  std::unique_ptr<HostStream> stream(new HostStream(pool));
  TDL_ASSIGN(stream->ring_, os::Pages::map(kOps * sizeof(Op)));
  return stream;
}

HostStream::~HostStream() {
  if (!leader_.joinable()) return;
  push(Op{nullptr, OpKind::quit, {}});
  leader_.join();
}

Status HostStream::start() {
  if (leader_.joinable()) return {};
  return os::start_thread(&leader_, [](void* self) { static_cast<HostStream*>(self)->lead(); }, this);
}

Status HostStream::submit(const Op& op) {
  if (recording_) {
    const Status added = recording_->add(op);
    return added.ok() ? added : refuse(added);
  }
  TDL_TRY(start());
  push(op);
  return {};
}

Status HostStream::ready() {
  if (recording_) return refuse(fail(Code::state, "only stages may be enqueued during a capture"));
  return start();
}

void HostStream::push(const Op& op) {
  const uint32_t index = pushed_.load();
  caller_waits_.wait([this, index] { return index - run_.load() < kOps; });
  reinterpret_cast<Op*>(ring_.data())[index % kOps] = op;
  pushed_.store(index + 1);
  leader_waits_.notify();
}

Status HostStream::refuse(Status why) {
  if (recording_ && lost_.ok()) lost_ = why;
  return why;
}

Status HostStream::begin_capture() {
  if (recording_) return refuse(fail(Code::state, "a capture is already in progress on this stream"));
  recording_ = std::make_unique<HostGraph>();
  lost_ = Status();
  return {};
}

Result<std::unique_ptr<Graph>> HostStream::end_capture() {
  if (!recording_) return fail(Code::state, "no capture is in progress on this stream");
  std::unique_ptr<HostGraph> graph = std::move(recording_);
  if (!lost_.ok()) return lost_;
  graph->finish();
  return std::unique_ptr<Graph>(std::move(graph));
}

void HostStream::lead() noexcept {
  std::fesetenv(FE_DFL_ENV);  // as in Pool::work
  bool skipping = false;      // the pass has ended, its stages are still coming
  for (uint32_t index = 0;; ++index) {
    leader_waits_.wait([this, index] { return pushed_.load() != index; });
    const Op& op = reinterpret_cast<const Op*>(ring_.data())[index % kOps];
    switch (op.kind) {
      case OpKind::stage:
        if (!skipping) op.run(op.arguments, pool_);
        break;
      case OpKind::always:
        op.run(op.arguments, pool_);
        break;
      case OpKind::checkpoint:
        if (ends(*reinterpret_cast<const PassControl*>(op.arguments))) skipping = true;
        break;
      case OpKind::end_pass:
        skipping = false;
        break;
      case OpKind::quit:
        return;
    }
    run_.store(index + 1);
    caller_waits_.notify();
  }
}

}  // namespace tdl::host
