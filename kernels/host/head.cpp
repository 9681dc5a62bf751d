// head: final norm and logits of the rows that want them.
#include <atomic>
#include <bit>
#include <cstring>

#include "kernels/host/product.h"
#include "kernels/host/table.h"

namespace tdl::host {
namespace {

bool is_finite(float value) { return (std::bit_cast<uint32_t>(value) & 0x7F800000u) != 0x7F800000u; }

// Zeros for padding, the normed hidden state for the others.
void prepare(const HeadArgs& args, uint32_t output, const InnerLoops& loops) {
  const uint32_t in = args.weight.in, vocab = args.weight.out;
  float* normed = at(args.hidden_out) + uint64_t{output} * in;
  const int32_t row = at(args.output_row)[output];
  at(args.row_status)[output] = 0;
  if (row >= 0) return loops.rms_norm(at(args.hidden) + static_cast<uint64_t>(row) * in, at(args.norm), in, args.eps, normed);
  std::memset(normed, 0, in * sizeof(float));
  std::memset(at(args.logits) + uint64_t{output} * vocab, 0, vocab * sizeof(float));
}

void store(const HeadArgs& args, uint32_t output, uint32_t first, uint32_t outs, const float* sums) {
  float* logits = at(args.logits) + uint64_t{output} * args.weight.out + first;
  bool finite = true;
  for (uint32_t i = 0; i < outs; ++i) {
    logits[i] = sums[i];
    finite = finite && is_finite(sums[i]);
  }
  // Other threads may find the same of other logits of this output.
  if (!finite) std::atomic_ref(at(args.row_status)[output]).store(static_cast<int32_t>(Code::numeric), std::memory_order_relaxed);
}

}  // namespace

void head(const HeadArgs& args, Pool& pool) {
  pool.for_each(args.outputs, [&](uint32_t output) { prepare(args, output, pool.loops()); });
  // Outputs in batches, padding left out of them.
  for (uint32_t next = 0; next < args.outputs;) {
    constexpr uint32_t kBatch = 8 * kBlockRows;
    uint32_t output[kBatch], count = 0;
    for (; next < args.outputs && count < kBatch; ++next) {
      if (at(args.output_row)[next] >= 0) output[count++] = next;
    }
    product(args.weight, count, pool, [&](uint32_t i) { return at(args.hidden_out) + uint64_t{output[i]} * args.weight.in; },
            [&](uint32_t i, uint32_t first, uint32_t outs, const float* sums) { store(args, output[i], first, outs, sums); });
  }
}

}  // namespace tdl::host
