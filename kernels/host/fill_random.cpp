// fill_random: weights that are a hash of their place.
#include <cstring>

#include "kernels/core/random.h"
#include "kernels/host/table.h"

namespace tdl::host {

void fill_random(const FillRandomArgs& args, Pool& pool) {
  constexpr uint64_t kSlice = 1 << 16;
  auto* data = static_cast<unsigned char*>(at(args.data));
  pool.for_each(static_cast<uint32_t>((args.count + kSlice - 1) / kSlice), [&](uint32_t slice) {
    const uint64_t end = std::min(args.count, (slice + 1) * kSlice);
    for (uint64_t i = slice * kSlice; i < end; ++i) {
      const float value = args.ones ? 1.0f : random_weight(args.seed, i);
      if (args.dtype == DType::f32) {
        std::memcpy(data + 4 * i, &value, 4);
        continue;
      }
      const uint16_t half = args.dtype == DType::bf16 ? f32_to_bf16(value) : args.ones ? uint16_t{0x3C00} : small_f32_to_f16(value);
      std::memcpy(data + 2 * i, &half, 2);
    }
  });
}

}  // namespace tdl::host
