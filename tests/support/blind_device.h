// The host device as one whose memory the host cannot see and that keeps f32 matrices in bf16: what loading meets on a GPU.
#pragma once
#include <memory>

#include "kernels/device.h"

namespace tdl::test {

class BlindDevice final : public Device {
 public:
  BlindDevice() : real_(std::move(host_device(1)).value()) {}
  Device& real() { return *real_; }

  const char* name() const override { return "blind"; }
  DeviceTraits traits() const override {
    DeviceTraits traits = real_->traits();
    traits.host_memory = false;
    return traits;
  }
  DType default_kv_dtype(DType weights) const override { return real_->default_kv_dtype(weights); }
  bool supports_kv_dtype(DType type) const override { return real_->supports_kv_dtype(type); }
  DType matrix_dtype(DType stored) const override { return stored == DType::f32 ? DType::bf16 : stored; }
  DType operand_dtype(DType matrix) const override { return real_->operand_dtype(matrix); }
  Status check_matrix(const char*, const Matrix&) const override { return {}; }
  uint32_t next_row_class(uint32_t rows) const override { return real_->next_row_class(rows); }
  uint64_t free_bytes() const override { return real_->free_bytes(); }
  const StageTable& stages() const override { return real_->stages(); }
  Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) override { return real_->allocate(bytes); }
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t bytes) override { return real_->allocate_pinned(bytes); }
  void* host_view(uint64_t) override { return nullptr; }
  void set_workspace(DeviceBytes workspace) override { real_->set_workspace(workspace); }
  Result<std::unique_ptr<Stream>> create_stream() override { return real_->create_stream(); }
  Result<std::unique_ptr<Stream>> adopt_stream(void* native) override { return real_->adopt_stream(native); }
  Result<std::unique_ptr<Event>> create_event() override { return real_->create_event(); }
  Status copy_to_device(uint64_t destination, const void* source, uint64_t bytes, Stream& stream) override {
    return real_->copy_to_device(destination, source, bytes, stream);
  }
  Status copy_to_host(void* destination, uint64_t source, uint64_t bytes, Stream& stream) override { return real_->copy_to_host(destination, source, bytes, stream); }
  Status record(Event& event, Stream& stream) override { return real_->record(event, stream); }
  Result<bool> done(const Event& event) override { return real_->done(event); }
  Status wait(const Event& event, uint64_t timeout_ns) override { return real_->wait(event, timeout_ns); }
  uint64_t elapsed_ns(const Event& from, const Event& to) override { return real_->elapsed_ns(from, to); }
  Status begin_capture(Stream& stream) override { return real_->begin_capture(stream); }
  Result<std::unique_ptr<Graph>> end_capture(Stream& stream) override { return real_->end_capture(stream); }
  Status launch(Graph& graph, Stream& stream) override { return real_->launch(graph, stream); }
  Status checkpoint(const PassControl& control, Stream& stream) override { return real_->checkpoint(control, stream); }
  Status end_pass(Stream& stream) override { return real_->end_pass(stream); }

 private:
  std::unique_ptr<Device> real_;
};

}  // namespace tdl::test
