// Which sets of inner loops this processor can run.
#include "kernels/host/isa/inner.h"

namespace tdl::host {
namespace {

// The plain one first, the best last.
struct Sets {
  const InnerLoops* usable[kMostSets];
  uint32_t count;
};

Sets usable_sets() {
  Sets sets{{&kBaselineLoops}, 1};
#if defined(__x86_64__)
  // These ask the processor and whether the operating system keeps the registers.
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul")) sets.usable[sets.count++] = &kSse4Loops;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
    sets.usable[sets.count++] = &kAvx2Loops;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      sets.usable[sets.count++] = &kAvx512Loops;
  }
#elif defined(__aarch64__)
  sets.usable[sets.count++] = &kNeonLoops;
#endif
  return sets;
}

}  // namespace

const InnerLoops& best_inner_loops() {
  const Sets sets = usable_sets();
  return *sets.usable[sets.count - 1];
}

uint32_t all_inner_loops(const InnerLoops** loops) {
  const Sets sets = usable_sets();
  for (uint32_t i = 0; i < sets.count; ++i) loops[i] = sets.usable[i];
  return sets.count;
}

}  // namespace tdl::host
