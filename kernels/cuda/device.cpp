#include "kernels/cuda/device.h"

#include <cstdio>
#include <cstring>

#include "kernels/cuda/check.h"
#include "kernels/cuda/event.h"
#include "kernels/cuda/graph.h"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/table.h"

namespace tdl::cuda {
namespace {

class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(CudaDevice& device, void* data, uint64_t bytes) : device_(device), data_(data), bytes_(bytes) {}
  ~CudaMemory() override {
    const Current current = device_.enter();
    cudaFree(data_);
    cudaGetLastError();
  }
  DeviceBytes span() const override { return {reinterpret_cast<uintptr_t>(data_), bytes_}; }

 private:
  CudaDevice& device_;
  void* data_;
  uint64_t bytes_;
};

class CudaPinned final : public PinnedMemory {
 public:
  CudaPinned(CudaDevice& device, void* data, uint64_t bytes) : device_(device), data_(data), bytes_(bytes) {}
  ~CudaPinned() override {
    const Current current = device_.enter();
    cudaFreeHost(data_);
    cudaGetLastError();
  }
  std::byte* data() const override { return static_cast<std::byte*>(data_); }
  uint64_t bytes() const override { return bytes_; }

 private:
  CudaDevice& device_;
  void* data_;
  uint64_t bytes_;
};

// At least one byte: nothing of size 0 has an address of its own.
uint64_t at_least_one(uint64_t bytes) { return bytes ? bytes : 1; }

}  // namespace

bool early_start(const CudaDevice& device) { return device.early_start(); }
uint32_t multiprocessors(const CudaDevice& device) { return device.multiprocessors(); }
uint32_t shared_limit(const CudaDevice& device) { return device.shared_limit(); }

Status CudaDevice::use_primary(uint32_t ordinal) {
  CUcontext before = nullptr;
  driver_.ctx_get_current(&before);
  const Status made = check(cudaInitDevice(static_cast<int>(ordinal), 0, 0), "cudaInitDevice");
  // cudaSetDevice makes the primary context current: it is read, and the caller's put back.
  const Status set = made.ok() ? check(cudaSetDevice(static_cast<int>(ordinal)), "cudaSetDevice") : made;
  driver_.ctx_get_current(&context_);
  driver_.ctx_set_current(before);
  return set;
}

Status CudaDevice::use_context_of(CUstream stream, uint32_t ordinal) {
  if (driver_.stream_get_ctx(stream, &context_) != CUDA_SUCCESS) return fail(Code::invalid_argument, "cuda_stream is not a CUDA stream");
  const Current current = enter();
  CUdevice device = -1;
  if (driver_.ctx_get_device(&device) != CUDA_SUCCESS || static_cast<uint32_t>(device) != ordinal)
    return fail(Code::invalid_argument, "cuda_stream belongs to GPU %d, the engine is for GPU %u", static_cast<int>(device), ordinal);
  return {};
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(uint32_t ordinal, void* callers_stream) {
  TDL_ASSIGN(const Driver driver, Driver::open());
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || static_cast<uint32_t>(count) <= ordinal) {
    cudaGetLastError();
    return fail(Code::unsupported, "there is no GPU %u: the NVIDIA driver has %d", ordinal, count);
  }
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, stage_table()));
  TDL_TRY(callers_stream ? device->use_context_of(static_cast<CUstream>(callers_stream), ordinal) : device->use_primary(ordinal));
  const Current current = device->enter();
  cudaDeviceProp properties{};
  TDL_TRY(check(cudaGetDeviceProperties(&properties, static_cast<int>(ordinal)), "cudaGetDeviceProperties"));
  char name[80];
  std::snprintf(name, sizeof name, "cuda:%u %.60s", ordinal, properties.name);
  device->name_ = name;
  device->multiprocessors_ = static_cast<uint32_t>(properties.multiProcessorCount);
  device->shared_limit_ = static_cast<uint32_t>(properties.sharedMemPerBlockOptin);
  if (properties.major < 8) return fail(Code::unsupported, "GPU %u (%.60s) has compute capability %d.%d, at least 8.0 is needed", ordinal, properties.name, properties.major, properties.minor);
  TDL_TRY(device->prepare());
  return device;
}

Status CudaDevice::prepare() {
  TDL_ASSIGN(early_start_, prepare_kernels(shared_limit_));
  TDL_ASSIGN(CublasLt library, CublasLt::open());
  TDL_ASSIGN(products_, ProductTable::create(std::move(library)));
  return {};
}

CudaDevice::~CudaDevice() {
  const Current current = enter();
  products_.reset();
}

Status CudaDevice::check_matrix(const char* name, const Matrix& matrix) const {
  if (matrix.in % 8 == 0) return {};
  return fail(Code::unsupported, "tensor '%s' has rows of %u elements; device %s takes multiples of 8", name, matrix.in, name_.c_str());
}

uint64_t CudaDevice::free_bytes() const {
  const Current current = enter();
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) return free;
  cudaGetLastError();
  return 0;
}

Result<std::unique_ptr<DeviceMemory>> CudaDevice::allocate(uint64_t bytes) {
  const Current current = enter();
  void* data = nullptr;
  if (const cudaError_t error = cudaMalloc(&data, at_least_one(bytes)); error != cudaSuccess) {
    Status status = check(error, "cudaMalloc");
    return fail(status.code(), "%llu bytes of %s: %s", static_cast<unsigned long long>(bytes), name_.c_str(), status.message()).native(status.native_code()).needs(bytes);
  }
  auto memory = std::make_unique<CudaMemory>(*this, data, bytes);
  // On a stream of its own, so that nothing else is waited for.
  cudaStream_t stream = nullptr;
  TDL_TRY(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"));
  Status zeroed = check(cudaMemsetAsync(data, 0, bytes, stream), "cudaMemsetAsync");
  if (zeroed.ok()) zeroed = check(cudaStreamSynchronize(stream), "cudaMemsetAsync");
  cudaStreamDestroy(stream);
  TDL_TRY(zeroed);
  return std::unique_ptr<DeviceMemory>(std::move(memory));
}

Result<std::unique_ptr<PinnedMemory>> CudaDevice::allocate_pinned(uint64_t bytes) {
  const Current current = enter();
  void* data = nullptr;
  if (const Status status = check(cudaHostAlloc(&data, at_least_one(bytes), cudaHostAllocDefault), "cudaHostAlloc"); !status.ok())
    return fail(status.code(), "%llu bytes of pinned host memory: %s", static_cast<unsigned long long>(bytes), status.message()).native(status.native_code()).needs(bytes);
  std::memset(data, 0, at_least_one(bytes));
  return std::unique_ptr<PinnedMemory>(std::make_unique<CudaPinned>(*this, data, bytes));
}

Result<std::unique_ptr<Stream>> CudaDevice::create_stream() {
  const Current current = enter();
  cudaStream_t stream = nullptr;
  TDL_TRY(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"));
  return std::unique_ptr<Stream>(std::make_unique<CudaStream>(*this, stream, true));
}

Result<std::unique_ptr<Stream>> CudaDevice::adopt_stream(void* native) {
  return std::unique_ptr<Stream>(std::make_unique<CudaStream>(*this, static_cast<cudaStream_t>(native), false));
}

Result<std::unique_ptr<Event>> CudaDevice::create_event() {
  const Current current = enter();
  cudaEvent_t event = nullptr;
  TDL_TRY(check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreate"));
  return std::unique_ptr<Event>(std::make_unique<CudaEvent>(*this, event));
}

Status CudaDevice::copy_to_device(uint64_t destination, const void* source, uint64_t bytes, Stream& stream) {
  const Current current = enter();
  return check(cudaMemcpyAsync(reinterpret_cast<void*>(destination), source, bytes, cudaMemcpyHostToDevice, cuda_stream(stream).native()), "copy to the GPU");
}

Status CudaDevice::copy_to_host(void* destination, uint64_t source, uint64_t bytes, Stream& stream) {
  const Current current = enter();
  return check(cudaMemcpyAsync(destination, reinterpret_cast<const void*>(source), bytes, cudaMemcpyDeviceToHost, cuda_stream(stream).native()), "copy from the GPU");
}

Status CudaDevice::record(Event& event, Stream& stream) {
  const Current current = enter();
  return check(cudaEventRecord(static_cast<CudaEvent&>(event).native(), cuda_stream(stream).native()), "cudaEventRecord");
}

Result<bool> CudaDevice::done(const Event& event) { return static_cast<const CudaEvent&>(event).done(); }

Status CudaDevice::wait(const Event& event, uint64_t timeout_ns) { return static_cast<const CudaEvent&>(event).wait(timeout_ns); }

uint64_t CudaDevice::elapsed_ns(const Event& from, const Event& to) {
  const Current current = enter();
  float milliseconds = 0;
  if (cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(from).native(), static_cast<const CudaEvent&>(to).native()) == cudaSuccess)
    return static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
  cudaGetLastError();
  return 0;
}

Status CudaDevice::begin_capture(Stream& stream) {
  const Current current = enter();
  return check(cudaStreamBeginCapture(cuda_stream(stream).native(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

Result<std::unique_ptr<Graph>> CudaDevice::end_capture(Stream& stream) {
  const Current current = enter();
  const cudaStream_t native = cuda_stream(stream).native();
  cudaGraph_t recorded = nullptr;
  const Status ended = check(cudaStreamEndCapture(native, &recorded), "cudaStreamEndCapture");
  if (!ended.ok()) {
    if (recorded) cudaGraphDestroy(recorded);
    return ended;
  }
  return CudaGraph::make(*this, recorded, native);
}

Status CudaDevice::launch(Graph& graph, Stream& stream) {
  const Current current = enter();
  return check(cudaGraphLaunch(static_cast<CudaGraph&>(graph).native(), cuda_stream(stream).native()), "cudaGraphLaunch");
}

// What is enqueued cannot be stopped: the pass ends with what comes after this.
Status CudaDevice::checkpoint(const PassControl& control, Stream&) {
  int32_t reason = control.depends_on ? control.depends_on->load(std::memory_order_acquire) : 0;
  if (control.cancelled_through->load(std::memory_order_acquire) >= control.ticket) reason = static_cast<int32_t>(Code::cancelled);
  if (reason == 0) return {};
  return fail(static_cast<Code>(reason), reason == static_cast<int32_t>(Code::cancelled) ? "the pass was cancelled" : "the pass whose tokens this one reads failed");
}

}  // namespace tdl::cuda

namespace tdl {

Result<std::unique_ptr<Device>> cuda_device(uint32_t ordinal, void* callers_stream) {
  TDL_ASSIGN(std::unique_ptr<cuda::CudaDevice> device, cuda::CudaDevice::open(ordinal, callers_stream));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace tdl
