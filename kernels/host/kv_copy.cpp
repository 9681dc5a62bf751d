// kv_copy: whole KV blocks, in every layer.
#include <cstring>

#include "kernels/host/table.h"

namespace tdl::host {

// The copies of a layer are made in their order: a later one may read what an earlier one wrote.
void kv_copy(const KvCopyArgs& args, Pool& pool) {
  pool.for_each(args.layers, [&](uint32_t layer) {
    auto* blocks = static_cast<unsigned char*>(at(args.data)) + layer * args.layer_bytes;
    for (uint32_t i = 0; i < args.count; ++i) {
      if (args.from[i] == args.to[i]) continue;
      std::memcpy(blocks + static_cast<uint64_t>(args.to[i]) * args.block_bytes,
                  blocks + static_cast<uint64_t>(args.from[i]) * args.block_bytes, args.block_bytes);
    }
  });
}

}  // namespace tdl::host
