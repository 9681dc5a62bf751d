// The CPU as a device: device memory is host memory, streams are threads.
#pragma once
#include <memory>

#include "kernels/device.h"
#include "kernels/host/pool.h"

namespace tdl::host {

class HostDevice final : public Device {
 public:
  HostDevice(std::unique_ptr<Pool> pool, const StageTable& stages) : pool_(std::move(pool)), stages_(stages) {}

  const char* name() const override { return "cpu"; }
  DeviceTraits traits() const override { return {25, 8, 1024, 0, 0, 0, true, false}; }
  DType default_kv_dtype(DType) const override { return DType::f32; }
  bool supports_kv_dtype(DType type) const override { return type == DType::f32; }
  DType matrix_dtype(DType stored) const override { return stored; }
  DType operand_dtype(DType) const override { return DType::f32; }
  Status check_matrix(const char*, const Matrix&) const override { return {}; }
  uint32_t next_row_class(uint32_t) const override { return UINT32_MAX; }
  uint64_t free_bytes() const override;
  const StageTable& stages() const override { return stages_; }

  Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) override;
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t bytes) override;
  void* host_view(uint64_t address) override;
  void set_workspace(DeviceBytes) override {}

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
  Status end_pass(Stream& stream) override;

 private:
  std::unique_ptr<Pool> pool_;
  StageTable stages_;
};

}  // namespace tdl::host
