// Captured graphs by key, each with a snapshot of every address it was captured with: a replay whose addresses differ is a bug of
// ours and runs eagerly instead.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/device.h"
#include "runtime/graphs/graph_key.h"

namespace tdl {

// `Arguments` is the comparable POD of all that a forward pass is launched with.
template <class Arguments>
class GraphCache {
 public:
  // Null when no graph was captured for the key, or when it was captured with other arguments.
  Graph* find(const GraphKey& key, const Arguments& arguments) const {
    for (const Entry& entry : entries_) {
      if (entry.key == key) return entry.snapshot == arguments ? entry.graph.get() : nullptr;
    }
    return nullptr;
  }
  bool contains(const GraphKey& key) const {
    for (const Entry& entry : entries_) {
      if (entry.key == key) return true;
    }
    return false;
  }
  // Room for `more` entries: add() allocates nothing then.
  void reserve(size_t more) { entries_.reserve(entries_.size() + more); }
  // A null graph notes that the capture failed, so that it is not tried again.
  void add(const GraphKey& key, const Arguments& arguments, std::unique_ptr<Graph> graph) {
    if (graph) {
      bytes_.fetch_add(graph->bytes(), std::memory_order_relaxed);
      graphs_.fetch_add(1, std::memory_order_relaxed);
    }
    entries_.push_back(Entry{key, arguments, std::move(graph)});
  }
  uint32_t graphs() const { return graphs_.load(std::memory_order_relaxed); }  // any thread
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }    // any thread

 private:
  struct Entry {
    GraphKey key;
    Arguments snapshot;
    std::unique_ptr<Graph> graph;
  };
  std::vector<Entry> entries_;
  std::atomic<uint32_t> graphs_{0};
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace tdl
