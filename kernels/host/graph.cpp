#include "kernels/host/graph.h"

#include <new>

namespace tdl::host {

uint64_t HostGraph::bytes() const { return sizeof *this + nodes_.capacity() * sizeof(Op); }

Status HostGraph::add(const Op& op) {
  try {
    nodes_.push_back(op);
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "no memory for node %zu of a graph", nodes_.size()).needs(sizeof op);
  }
  return {};
}

void HostGraph::finish() { nodes_.shrink_to_fit(); }

void HostGraph::run(Pool& pool) const {
  for (const Op& node : nodes_) node.run(node.arguments, pool);
}

void launch(const LaunchArgs& args, Pool& pool) { args.graph->run(pool); }

}  // namespace tdl::host
