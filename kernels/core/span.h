// Addresses in device memory.  They cannot be dereferenced on the host: only a device's own kernels turn them into pointers.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tdl {

// The address of a T in device memory; 0 = none.  Trivially copyable: kernels take it by value.
template <class T>
struct DevicePtr {
  uint64_t address = 0;

  explicit constexpr operator bool() const { return address != 0; }
  friend constexpr bool operator==(DevicePtr, DevicePtr) = default;
  // `count` elements further; null stays null.
  constexpr DevicePtr advanced(uint64_t count) const { return {address ? address + count * sizeof(T) : 0}; }
  template <class U>
  constexpr DevicePtr<U> as() const { return {address}; }
  // As pointers convert: to const, to void.
  template <class U>
    requires(!std::is_same_v<T, U> && std::is_convertible_v<T*, U*>)
  constexpr operator DevicePtr<U>() const { return {address}; }
};

template <class T>
struct DeviceSpan {
  DevicePtr<T> data;
  uint64_t count = 0;

  constexpr uint64_t bytes() const { return count * sizeof(T); }
};

// Bytes of device memory with no element type of their own (weights as stored, the arena).
struct DeviceBytes {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

}  // namespace tdl
