#include "runtime/model/weight_load.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/core/random.h"

namespace tdl {
namespace {

// Elements [first, first + count) of a tensor as the device keeps them.  `stored` is working memory.
Status read_elements(const WeightPiece& piece, const Checkpoint& checkpoint, uint64_t first, uint64_t count, std::byte* to, std::vector<std::byte>& stored) {
  const uint64_t size = size_of(piece.stored);
  if (piece.stored == piece.kept) return checkpoint.read(*piece.tensor, first * size, to, count * size);
  stored.resize(count * size);
  TDL_TRY(checkpoint.read(*piece.tensor, first * size, stored.data(), count * size));
  for (uint64_t i = 0; i < count; ++i) {
    if (piece.kept == DType::f32) {
      uint16_t bits;
      std::memcpy(&bits, stored.data() + 2 * i, 2);
      const float value = piece.stored == DType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
      std::memcpy(to + 4 * i, &value, 4);
    } else {
      float value;
      std::memcpy(&value, stored.data() + 4 * i, 4);
      const uint16_t bits = f32_to_bf16(value);
      std::memcpy(to + 2 * i, &bits, 2);
    }
  }
  return {};
}

// Writes bytes to device memory, from parts that are filled one after the other.
class Feed {
 public:
  Feed(Device& device, Stream& stream, uint64_t base) : device_(device), stream_(stream), base_(base), view_(static_cast<std::byte*>(device.host_view(base))) {}

  Status init() {
    TDL_ASSIGN(idle_, device_.create_event());
    if (view_) return {};
    TDL_ASSIGN(ring_, device_.allocate_pinned(load_ring_bytes(device_)));
    for (auto& event : copied_) {
      TDL_ASSIGN(event, device_.create_event());
    }
    return {};
  }
  // The most bytes of one put().
  uint64_t part_bytes() const { return view_ ? UINT64_MAX : kLoadPartBytes; }
  // fill(to) writes `bytes` bytes, which go to base + offset.
  template <class Fill>
  Status put(uint64_t offset, uint64_t bytes, Fill&& fill) {
    if (view_) return fill(view_ + offset);
    const uint32_t part = next_;
    next_ = (next_ + 1) % kLoadParts;
    TDL_TRY(device_.wait(*copied_[part], UINT64_MAX));
    std::byte* to = ring_->data() + part * kLoadPartBytes;
    TDL_TRY(fill(to));
    TDL_TRY(device_.copy_to_device(base_ + offset, to, bytes, stream_));
    return device_.record(*copied_[part], stream_);
  }
  Status finish() {
    TDL_TRY(device_.record(*idle_, stream_));
    return device_.wait(*idle_, UINT64_MAX);
  }

 private:
  Device& device_;
  Stream& stream_;
  uint64_t base_;
  std::byte* view_;
  std::unique_ptr<PinnedMemory> ring_;
  std::unique_ptr<Event> copied_[kLoadParts], idle_;
  uint32_t next_ = 0;
};

Status load_piece(const WeightPiece& piece, const Checkpoint& checkpoint, Feed& feed, std::vector<std::byte>& stored) {
  const uint64_t size = size_of(piece.kept), count = piece.bytes / size;
  // A conversion goes through working memory: bounded, also where a part is not.
  const uint64_t most = std::min(feed.part_bytes(), piece.stored == piece.kept ? UINT64_MAX : kLoadPartBytes) / size;
  for (uint64_t first = 0; first < count; first += most) {
    const uint64_t part = std::min(most, count - first);
    TDL_TRY(feed.put(piece.offset + first * size, part * size, [&](std::byte* to) { return read_elements(piece, checkpoint, first, part, to, stored); }));
  }
  return {};
}

Status load_all(const WeightPlan& plan, const Checkpoint* checkpoint, Device& device, Stream& stream, uint64_t base, Feed& feed,
                const std::function<bool(float)>& progress) {
  uint64_t done = 0;
  std::vector<std::byte> stored;
  for (const WeightPiece& piece : plan.pieces()) {
    if (progress(static_cast<float>(static_cast<double>(done) / static_cast<double>(plan.bytes())))) return fail(Code::cancelled, "loading was cancelled");
    if (checkpoint) {
      const Status status = load_piece(piece, *checkpoint, feed, stored);
      if (!status.ok()) return fail(status.code(), "tensor '%s': %s", piece.name.c_str(), status.message()).native(status.native_code());
    } else {
      TDL_TRY(device.stages().fill_random({{base + piece.offset}, piece.kept, piece.bytes / size_of(piece.kept), mix(piece.offset), piece.norm}, stream));
      TDL_TRY(feed.finish());  // so that progress is true and a cancel is heard
    }
    done += piece.bytes;
  }
  const uint64_t bytes = plan.inv_freq().size() * sizeof(float);
  TDL_TRY(feed.put(plan.inv_freq_offset(), bytes, [&](std::byte* to) {
    std::memcpy(to, plan.inv_freq().data(), bytes);
    return Status();
  }));
  TDL_TRY(feed.finish());
  if (progress(1.0f)) return fail(Code::cancelled, "loading was cancelled");
  return {};
}

}  // namespace

uint64_t load_ring_bytes(const Device& device) { return device.traits().host_memory ? 0 : kLoadParts * kLoadPartBytes; }

Status load_weights(const WeightPlan& plan, const Checkpoint* checkpoint, Device& device, Stream& stream, uint64_t base,
                    const std::function<bool(float)>& progress) {
  Feed feed(device, stream, base);
  TDL_TRY(feed.init());
  const Status status = load_all(plan, checkpoint, device, stream, base, feed, progress);
  if (!status.ok()) (void)feed.finish();  // nothing may still be copied from the ring when it goes
  return status;
}

}  // namespace tdl
