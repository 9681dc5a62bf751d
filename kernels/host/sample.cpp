// sample: greedy, the lowest index among the largest logits.
#include "kernels/host/table.h"

namespace tdl::host {
namespace {

uint32_t largest(const float* logits, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; ++i)
    if (logits[i] > logits[best]) best = i;
  return best;
}

}  // namespace

void sample(const SampleArgs& args, Pool& pool) {
  pool.for_each(args.outputs, [&](uint32_t output) {
    uint32_t& token = at(args.tokens)[output];
    if (at(args.output_row)[output] < 0) token = kNoToken;
    else if (at(args.row_status)[output] != 0) token = 0;
    else token = largest(at(args.logits) + uint64_t{output} * args.vocab_size, args.vocab_size);
  });
}

}  // namespace tdl::host
