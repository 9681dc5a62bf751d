// The inner loops of one instruction set, joined into its table.  Included once by the file of each set (vectors.h says how).
#pragma once
#include "kernels/host/isa/attention_loops.h"
#include "kernels/host/isa/inner.h"
#include "kernels/host/isa/product_loops.h"
#include "kernels/host/isa/row_loops.h"

namespace tdl::host {
namespace {

constexpr InnerLoops loops_named(const char* name) {
  return {name, block_product, widen, rms_norm, silu_mul, attend, fold_partial, finish};
}

}  // namespace
}  // namespace tdl::host
