// What the host device's tests share: a device with a stream, poisoned arrays, weights of every type, comparisons.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/device.h"

namespace tdl::test {

inline std::string text_of(DType type) { return name_of(type); }

inline constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};

struct Rig {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> event;

  explicit Rig(uint32_t threads = 2) {
    device = std::move(host_device(threads)).value();
    stream = std::move(device->create_stream()).value();
    event = std::move(device->create_event()).value();
  }
  const StageTable& stages() const { return device->stages(); }
  // Everything enqueued so far has run.
  void finish() {
    REQUIRE(device->record(*event, *stream).ok());
    REQUIRE(device->wait(*event, UINT64_MAX).ok());
  }
  // Runs one stage to its end.
  template <class Args>
  void run(Status (*stage)(const Args&, Stream&), const std::type_identity_t<Args>& args) {
    const Status status = stage(args, *stream);
    REQUIRE_MESSAGE(status.ok(), status.message());
    finish();
  }
};

// Device memory with bounds that the sanitizers see; new elements are poison (a NaN, or 0xA5 bytes), which shows what was not written.
template <class T>
class Array {
 public:
  explicit Array(size_t count = 0) : values_(count, poison()) {}
  Array(std::vector<T> values) : values_(std::move(values)) {}

  static T poison() {
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(0x7FE5A5A5u);
    T value;
    std::memset(&value, 0xA5, sizeof value);
    return value;
  }
  DevicePtr<T> ptr() { return {values_.empty() ? 0 : reinterpret_cast<uintptr_t>(values_.data())}; }
  DevicePtr<const T> view() const { return {values_.empty() ? 0 : reinterpret_cast<uintptr_t>(values_.data())}; }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }
  void wipe() { std::fill(values_.begin(), values_.end(), poison()); }
  bool untouched(size_t begin, size_t end) const {
    const T wanted = poison();
    for (size_t i = begin; i < end; ++i)
      if (std::memcmp(&values_[i], &wanted, sizeof wanted) != 0) return false;
    return true;
  }

 private:
  std::vector<T> values_;
};

template <class T>
bool same_bits(const T* a, const T* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(T)) == 0;
}
template <class T>
bool same_bits(const Array<T>& a, const Array<T>& b) {
  return a.size() == b.size() && (a.size() == 0 || same_bits(a.data(), b.data(), a.size()));
}

// Largest |a - b| / (1 + |b|); infinite where either is not finite.
inline double error_of(const float* actual, const std::vector<double>& expected) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]) / (1 + std::abs(expected[i]));
    worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
  }
  return worst;
}

// What stands in padding that a stage reads and writes in place: a NaN would come through arithmetic unchanged.
inline constexpr float kSentinel = 777;

inline bool all_sentinel(const Array<float>& values, size_t begin) {
  return std::all_of(values.data() + begin, values.data() + values.size(), [](float value) { return value == kSentinel; });
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  float uniform(float low, float high) { return low + (high - low) * static_cast<float>(engine_() >> 8) * 0x1p-24f; }
  uint32_t below(uint32_t limit) { return engine_() % limit; }
  Array<float> floats(size_t count, float low = -1, float high = 1) {
    Array<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = uniform(low, high);
    return values;
  }

 private:
  std::mt19937 engine_;
};

// A stored matrix and what its elements mean.
struct Weights {
  uint32_t out, in;
  DType dtype;
  Array<float> f32;       // the elements, exactly
  Array<uint16_t> half;   // as stored, for bf16 and f16

  Weights(uint32_t out, uint32_t in, DType dtype, Random& random) : out(out), in(in), dtype(dtype), f32(size_t{out} * in) {
    if (dtype != DType::f32) half = Array<uint16_t>(f32.size());
    for (size_t i = 0; i < f32.size(); ++i) {
      const float value = random.uniform(-1, 1);
      if (dtype == DType::f32) {
        f32[i] = value;
      } else if (dtype == DType::bf16) {
        half[i] = f32_to_bf16(value);
        f32[i] = bf16_to_f32(half[i]);
      } else {  // exponents of [2^-6, 1) and, now and then, subnormals and zero
        const uint32_t exponent = random.below(16) == 0 ? 0 : 9 + random.below(6);
        half[i] = static_cast<uint16_t>(random.below(2) << 15 | exponent << 10 | random.below(1024));
        f32[i] = f16_to_f32(half[i]);
      }
    }
  }
  Matrix matrix() const { return {{dtype == DType::f32 ? f32.view().address : half.view().address}, dtype, out, in}; }
  // sum over i of x[i] W[o][i]
  double times(uint32_t o, const double* x) const {
    double sum = 0;
    for (uint32_t i = 0; i < in; ++i) sum += x[i] * f32[size_t{o} * in + i];
    return sum;
  }
};

inline std::vector<double> rms_norm(const float* x, const float* weight, uint32_t n, double eps) {
  double squares = 0;
  for (uint32_t i = 0; i < n; ++i) squares += double{x[i]} * x[i];
  const double scale = 1 / std::sqrt(squares / n + eps);
  std::vector<double> out(n);
  for (uint32_t i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
  return out;
}

// A header in an array of its own, as the stages read it.
inline Array<PassHeader> header_of(uint32_t rows, uint32_t outputs = 0) {
  PassHeader header = {};
  header.num_rows = rows;
  header.num_seqs = rows;
  header.num_outputs = outputs;
  header.active_slot = -1;
  return Array<PassHeader>(std::vector<PassHeader>{header});
}

}  // namespace tdl::test
