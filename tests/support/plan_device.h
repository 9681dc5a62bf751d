// A device that has nothing but what a memory plan asks: a name, free memory, element types of the cache.
#pragma once
#include <memory>

#include "kernels/device.h"

namespace tdl::test {

struct PlanDevice final : Device {
  uint64_t free = uint64_t{1} << 40;
  bool bf16 = false;

  const char* name() const override { return "plan"; }
  DeviceTraits traits() const override { return {25, 8, 1024, 0, 0, 0, true, false}; }
  DType default_kv_dtype(DType) const override { return DType::f32; }
  bool supports_kv_dtype(DType type) const override { return type == DType::f32 || (type == DType::bf16 && bf16); }
  DType matrix_dtype(DType stored) const override { return stored; }
  DType operand_dtype(DType) const override { return DType::f32; }
  Status check_matrix(const char*, const Matrix&) const override { return {}; }
  uint32_t next_row_class(uint32_t) const override { return UINT32_MAX; }
  uint64_t free_bytes() const override { return free; }
  const StageTable& stages() const override { return table; }

  Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t) override { return none(); }
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t) override { return none(); }
  void* host_view(uint64_t) override { return nullptr; }
  void set_workspace(DeviceBytes) override {}
  Result<std::unique_ptr<Stream>> create_stream() override { return none(); }
  Result<std::unique_ptr<Stream>> adopt_stream(void*) override { return none(); }
  Result<std::unique_ptr<Event>> create_event() override { return none(); }
  Status copy_to_device(uint64_t, const void*, uint64_t, Stream&) override { return none(); }
  Status copy_to_host(void*, uint64_t, uint64_t, Stream&) override { return none(); }
  Status record(Event&, Stream&) override { return none(); }
  Result<bool> done(const Event&) override { return none(); }
  Status wait(const Event&, uint64_t) override { return none(); }
  uint64_t elapsed_ns(const Event&, const Event&) override { return 0; }
  Status begin_capture(Stream&) override { return none(); }
  Result<std::unique_ptr<Graph>> end_capture(Stream&) override { return none(); }
  Status launch(Graph&, Stream&) override { return none(); }
  Status checkpoint(const PassControl&, Stream&) override { return none(); }
  Status end_pass(Stream&) override { return none(); }

 private:
  static Status none() { return fail(Code::unsupported, "a plan's device does nothing"); }
  StageTable table;
};

}  // namespace tdl::test
