// One entry of a stream's queue and one node of a graph: a function and a copy of its arguments.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/core/span.h"

namespace tdl::host {

class Pool;

enum class OpKind : uint32_t {
  stage,       // stages and graphs: skipped between a checkpoint that ends the pass and end_pass
  always,      // copies and event records
  checkpoint,  // arguments: PassControl
  end_pass,
  quit         // the leader ends
};

struct Op {
  static constexpr uint32_t kArgumentBytes = 192;  // the largest argument struct fits; make_op asserts it

  void (*run)(const void* arguments, Pool& pool);  // null for the kinds that the stream itself acts on
  OpKind kind;
  alignas(8) unsigned char arguments[kArgumentBytes];
};

template <class Args>
Op make_op(OpKind kind, void (*run)(const void*, Pool&), const Args& args) {
  static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= Op::kArgumentBytes && alignof(Args) <= 8);
  Op op{};
  op.run = run;
  op.kind = kind;
  std::memcpy(op.arguments, &args, sizeof args);
  return op;
}

// An Op's run: Function with its arguments restored to their type.
template <class Args, void (*Function)(const Args&, Pool&)>
void run_with(const void* arguments, Pool& pool) {
  Function(*static_cast<const Args*>(arguments), pool);
}

// Device memory of the host device is host memory.
template <class T>
T* at(DevicePtr<T> pointer) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(pointer.address));
}

// Operands are f32 here.
inline float* operand(DevicePtr<void> pointer) { return static_cast<float*>(at(pointer)); }
inline const float* operand(DevicePtr<const void> pointer) { return static_cast<const float*>(at(pointer)); }

}  // namespace tdl::host
