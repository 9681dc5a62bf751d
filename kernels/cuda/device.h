// An NVIDIA GPU as a device.
#pragma once
#include <string>

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/driver.h"
#include "kernels/cuda/product.h"
#include "kernels/device.h"

namespace tdl::cuda {

class CudaDevice final : public Device {
 public:
  static constexpr uint64_t kWorkspaceBytes = 32ull << 20;  // cuBLASLt's
  static constexpr uint64_t kGraphBytesPerNode = 4096;

  static Result<std::unique_ptr<CudaDevice>> open(uint32_t ordinal, void* callers_stream);
  ~CudaDevice() override;

  // Every call into CUDA happens inside such a scope.
  Current enter() const { return Current(driver_, context_); }
  uint32_t multiprocessors() const { return multiprocessors_; }
  uint32_t shared_limit() const { return shared_limit_; }
  bool early_start() const { return early_start_; }
  ProductTable& products() { return *products_; }

  const char* name() const override { return name_.c_str(); }
  DeviceTraits traits() const override { return {90, UINT32_MAX, 8192, kWorkspaceBytes, 512ull << 20, 2 * kGraphBytesPerNode, false, true}; }
  // Half precision of the weights' own kind: f16 models lose what bf16 cannot hold.
  DType default_kv_dtype(DType weights) const override { return weights == DType::f16 ? DType::f16 : DType::bf16; }
  bool supports_kv_dtype(DType type) const override { return type != DType::f32; }
  DType matrix_dtype(DType stored) const override { return stored == DType::f32 ? DType::bf16 : stored; }
  DType operand_dtype(DType matrix) const override { return matrix; }
  Status check_matrix(const char* name, const Matrix& matrix) const override;
  uint32_t next_row_class(uint32_t rows) const override { return ProductTable::next_class(rows); }
  uint64_t free_bytes() const override;
  const StageTable& stages() const override { return stages_; }

  Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) override;
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t bytes) override;
  void* host_view(uint64_t) override { return nullptr; }
  void set_workspace(DeviceBytes workspace) override { products_->set_workspace(workspace); }

  Result<std::unique_ptr<Stream>> create_stream() override;
  Result<std::unique_ptr<Stream>> adopt_stream(void* native) override;
  Result<std::unique_ptr<Event>> create_event() override;

  Status copy_to_device(uint64_t destination, const void* source, uint64_t bytes, Stream& stream) override;
  Status copy_to_host(void* destination, uint64_t source, uint64_t bytes, Stream& stream) override;

  Status record(Event& event, Stream& stream) override;
  Result<bool> done(const Event& event) override;
  Status wait(const Event& event, uint64_t timeout_ns) override;
  uint64_t elapsed_ns(const Event& from, const Event& to) override;

  Status begin_capture(Stream& stream) override;
  Result<std::unique_ptr<Graph>> end_capture(Stream& stream) override;
  Status launch(Graph& graph, Stream& stream) override;

  Status checkpoint(const PassControl& control, Stream& stream) override;
  Status end_pass(Stream&) override { return {}; }

 private:
  CudaDevice(const Driver& driver, const StageTable& stages) : driver_(driver), stages_(stages) {}
  Status use_primary(uint32_t ordinal);
  Status use_context_of(CUstream stream, uint32_t ordinal);
  Status prepare();

  Driver driver_;
  CUcontext context_ = nullptr;
  StageTable stages_;
  std::string name_;
  uint32_t multiprocessors_ = 0, shared_limit_ = 0;
  bool early_start_ = false;
  std::unique_ptr<ProductTable> products_;
};

}  // namespace tdl::cuda
