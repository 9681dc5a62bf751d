// The metadata block: one block on the device, two stagings used in turn, one copy per upload.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/device.h"
#include "runtime/step/layout.h"
#include "runtime/step/upload.h"

namespace tdl {

// Writes a validated upload into a staging of the whole block's layout: header, live rows, padding (token 0, position 0, slot -1,
// seq_len 0, table entries 0, adapters -1, output_row -1), the table packed at shape.stride.  Arrays that already lie in place (from
// tdl_pass_map) are not copied.  Returns the end of the used prefix, as an offset like those of `group`.
uint64_t write_staging(const Upload& upload, const PassLimits& pass, const PassShape& shape, uint32_t block_size, const GroupLayout& group,
                       std::byte* staging);

// The addresses a pass's kernels read, in a block at `base`.
AttnMetadata attn_metadata(const PassShape& shape, const GroupLayout& group, uint64_t base);

class MetadataBlock {
 public:
  // `address` is layout.bytes of device memory.
  static Result<MetadataBlock> create(Device& device, const BlockLayout& layout, uint64_t address);

  // False while the next staging is still being copied from.
  Result<bool> staging_free() const { return device_->done(*copied_[next_]); }
  Status wait_staging() const { return device_->wait(*copied_[next_], UINT64_MAX); }
  // Where the next upload is written.
  std::byte* staging() const { return pinned_->data() + next_ * layout_.bytes; }
  // Writes the next staging and enqueues its copy.  Needs staging_free(); `uploaded` gets the bytes that were copied.
  Status upload(const Upload& upload, const PassLimits& pass, const PassShape& shape, uint32_t block_size, Stream& stream, uint64_t* uploaded);

  const GroupLayout& group(PassKind kind) const { return kind == PassKind::decode ? layout_.decode : layout_.prefill; }
  const BlockLayout& layout() const { return layout_; }
  uint64_t address() const { return address_; }
  uint32_t turn() const { return next_; }
  const std::byte* pinned_bytes() const { return pinned_->data(); }  // both stagings, for tests
  // Whether an array that a caller gave lies in one of the stagings.
  bool holds(const void* array) const {
    const auto* at = static_cast<const std::byte*>(array);
    return !std::less<>()(at, pinned_->data()) && std::less<>()(at, pinned_->data() + pinned_->bytes());
  }

 private:
  MetadataBlock() = default;
  Device* device_ = nullptr;
  BlockLayout layout_;
  uint64_t address_ = 0;
  std::unique_ptr<PinnedMemory> pinned_;  // two stagings
  std::unique_ptr<Event> copied_[2];
  uint32_t next_ = 0;
};

}  // namespace tdl
