// A recording: the stage calls of a capture, in order.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/device.h"
#include "kernels/host/op.h"

namespace tdl::host {

class HostGraph final : public Graph {
 public:
  uint64_t bytes() const override;
  // Adds a copy of `op`.  out_of_memory leaves the graph without it.
  Status add(const Op& op);
  void finish();                      // gives back what `nodes_` holds in reserve
  void run(Pool& pool) const;         // every node, verbatim

 private:
  std::vector<Op> nodes_;
};

struct LaunchArgs {
  const HostGraph* graph;
};
void launch(const LaunchArgs& args, Pool& pool);

}  // namespace tdl::host
