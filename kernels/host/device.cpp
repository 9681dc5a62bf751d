#include "kernels/host/device.h"

#include <cstring>
#include <utility>

#include "kernels/core/os.h"
#include "kernels/host/event.h"
#include "kernels/host/graph.h"
#include "kernels/host/stream.h"
#include "kernels/host/table.h"

namespace tdl::host {
namespace {

class HostMemory final : public DeviceMemory {
 public:
  explicit HostMemory(os::Pages pages) : pages_(std::move(pages)) {}
  DeviceBytes span() const override { return {reinterpret_cast<uintptr_t>(pages_.data()), pages_.bytes()}; }

 private:
  os::Pages pages_;
};

class HostPinned final : public PinnedMemory {
 public:
  explicit HostPinned(os::Pages pages) : pages_(std::move(pages)) {}
  std::byte* data() const override { return pages_.data(); }
  uint64_t bytes() const override { return pages_.bytes(); }

 private:
  os::Pages pages_;
};

struct CopyArgs {
  void* destination;
  const void* source;
  uint64_t bytes;
};

void copy(const CopyArgs& args, Pool&) {
  if (args.bytes > 0) std::memcpy(args.destination, args.source, args.bytes);
}

Status enqueue(Stream& stream, const Op& op) {
  auto& queue = static_cast<HostStream&>(stream);
  TDL_TRY(queue.ready());
  queue.push(op);
  return {};
}

}  // namespace

uint64_t HostDevice::free_bytes() const { return os::available_memory(); }

Result<std::unique_ptr<DeviceMemory>> HostDevice::allocate(uint64_t bytes) {
  TDL_ASSIGN(os::Pages pages, os::Pages::map(bytes));
  return std::unique_ptr<DeviceMemory>(std::make_unique<HostMemory>(std::move(pages)));
}

Result<std::unique_ptr<PinnedMemory>> HostDevice::allocate_pinned(uint64_t bytes) {
  TDL_ASSIGN(os::Pages pages, os::Pages::map(bytes));
  return std::unique_ptr<PinnedMemory>(std::make_unique<HostPinned>(std::move(pages)));
}

void* HostDevice::host_view(uint64_t address) { return at(DevicePtr<void>{address}); }

Result<std::unique_ptr<Stream>> HostDevice::create_stream() {
  TDL_ASSIGN(std::unique_ptr<Stream> stream, HostStream::create(*pool_));
  return stream;
}

Result<std::unique_ptr<Stream>> HostDevice::adopt_stream(void*) { return fail(Code::unsupported, "cuda_stream on device cpu"); }

Result<std::unique_ptr<Event>> HostDevice::create_event() { return std::unique_ptr<Event>(std::make_unique<HostEvent>()); }

Status HostDevice::copy_to_device(uint64_t destination, const void* source, uint64_t bytes, Stream& stream) {
  return enqueue(stream, make_op(OpKind::always, run_with<CopyArgs, copy>, CopyArgs{host_view(destination), source, bytes}));
}

Status HostDevice::copy_to_host(void* destination, uint64_t source, uint64_t bytes, Stream& stream) {
  return enqueue(stream, make_op(OpKind::always, run_with<CopyArgs, copy>, CopyArgs{destination, host_view(source), bytes}));
}

Status HostDevice::record(Event& event, Stream& stream) {
  auto& queue = static_cast<HostStream&>(stream);
  auto& point = static_cast<HostEvent&>(event);
  TDL_TRY(queue.ready());  // before the event becomes pending: a refused record leaves it as it was
  queue.push(make_op(OpKind::always, run_with<RecordArgs, host::record>, RecordArgs{&point, point.begin_record()}));
  return {};
}

Result<bool> HostDevice::done(const Event& event) { return static_cast<const HostEvent&>(event).done(); }

Status HostDevice::wait(const Event& event, uint64_t timeout_ns) { return static_cast<const HostEvent&>(event).wait(timeout_ns); }

uint64_t HostDevice::elapsed_ns(const Event& from, const Event& to) {
  const uint64_t begin = static_cast<const HostEvent&>(from).time_ns();
  const uint64_t end = static_cast<const HostEvent&>(to).time_ns();
  return end > begin ? end - begin : 0;
}

Status HostDevice::begin_capture(Stream& stream) { return static_cast<HostStream&>(stream).begin_capture(); }

Result<std::unique_ptr<Graph>> HostDevice::end_capture(Stream& stream) { return static_cast<HostStream&>(stream).end_capture(); }

Status HostDevice::launch(Graph& graph, Stream& stream) {
  const LaunchArgs args{static_cast<HostGraph*>(&graph)};
  return enqueue(stream, make_op(OpKind::stage, run_with<LaunchArgs, host::launch>, args));
}

Status HostDevice::checkpoint(const PassControl& control, Stream& stream) {
  return enqueue(stream, make_op(OpKind::checkpoint, nullptr, control));
}

Status HostDevice::end_pass(Stream& stream) { return enqueue(stream, Op{nullptr, OpKind::end_pass, {}}); }

}  // namespace tdl::host

namespace tdl {

Result<std::unique_ptr<Device>> host_device(uint32_t threads) {
  TDL_ASSIGN(std::unique_ptr<host::Pool> pool, host::Pool::create(threads ? threads : os::usable_cores()));
  return std::unique_ptr<Device>(std::make_unique<host::HostDevice>(std::move(pool), host::stage_table()));
}

}  // namespace tdl
