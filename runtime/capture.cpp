// Capturing decode graphs: an engine's side of the graph cache.
#include <algorithm>

#include "kernels/core/os.h"
#include "runtime/engine.h"

namespace tdl {

ForwardArgs Engine::forward_args(const PassShape& shape) const {
  const GroupLayout& group = block_->group(shape.kind);
  const uint64_t base = block_->address();
  ForwardArgs args;
  args.header = {base + group.header};
  args.meta = attn_metadata(shape, group, base);
  args.meta.max_blocks_per_seq = 0;
  args.token_ids = {base + group.token_ids};
  args.token_from = {base + group.token_from};
  args.chunk_start = {base + group.chunk_start};
  args.output_row = {base + group.output_row};
  args.activations = activations_;
  args.out = outputs_;
  args.rows = shape.padded_rows;
  args.outputs = shape.padded_outputs;
  args.rows_per_seq = shape.rows_per_seq;
  return args;
}

Result<std::unique_ptr<Graph>> Engine::record(const ForwardArgs& args) {
  TDL_TRY(device_->begin_capture(*capture_stream_));
  const Status recorded = forward(model_, args, nullptr, *device_, *capture_stream_);
  auto graph = device_->end_capture(*capture_stream_);  // also after a failure: it ends the recording
  TDL_TRY(recorded);
  return graph;
}

PassShape Engine::decode_shape(const GraphKey& key) const {
  PassShape shape;
  shape.kind = PassKind::decode;
  shape.rows_per_seq = key.rows_per_seq;
  shape.padded_seqs = shape.bucket = key.bucket;
  shape.padded_rows = key.bucket * key.rows_per_seq;
  const uint32_t outputs = key.outputs == OutputsKind::every_row ? shape.padded_rows : shape.padded_seqs;
  shape.padded_outputs = std::min(outputs, limits_.max_outputs);
  return shape;
}

Status Engine::warm_up() {
  Stream& stream = *capture_stream_;
  const auto run = [&](const PassShape& shape) {
    const ForwardArgs args = forward_args(shape);
    TDL_TRY(forward(model_, args, nullptr, *device_, stream, 1));
    return sample(model_, args, *device_, stream);
  };
  for (uint32_t rows = 1; rows <= limits_.max_rows_per_seq; ++rows) {
    for (uint32_t i = 0; i < limits_.buckets.count; ++i) {
      for (const OutputsKind outputs : {OutputsKind::per_sequence, OutputsKind::every_row})
        TDL_TRY(run(decode_shape({limits_.buckets.sizes[i], rows, Route::none, ExpertRoute::none, outputs})));
    }
  }
  PassShape shape;
  shape.kind = PassKind::prefill;
  shape.padded_seqs = 1;
  for (uint32_t rows = 0; rows < limits_.max_prefill_rows;) {
    rows = std::min(device_->next_row_class(rows), limits_.max_prefill_rows);
    shape.padded_rows = rows;
    shape.padded_outputs = std::min(rows, limits_.max_outputs);
    TDL_TRY(run(shape));
  }
  TDL_TRY(device_->record(*idle_, stream));
  return device_->wait(*idle_, UINT64_MAX);
}

void Engine::capture_one(const GraphKey& key) {
  if (graphs_.contains(key)) return;
  const ForwardArgs args = forward_args(decode_shape(key));
  graphs_.reserve(1);
  const uint64_t start = os::now_ns();
  auto graph = record(args);
  capture_ns_.fetch_add(os::now_ns() - start, std::memory_order_relaxed);
  if (graph.ok()) {
    graphs_.add(key, args, std::move(graph).value());
    return;
  }
  failures_.fetch_add(1, std::memory_order_relaxed);
  log(LogLevel::warning, "bucket %u x %u rows could not be captured and runs eagerly: %s", key.bucket, key.rows_per_seq, graph.status().message());
  graphs_.add(key, args, nullptr);
}

void Engine::capture(uint32_t rows_per_seq, uint32_t max_seqs) {
  const uint32_t largest = bucket_for(limits_.buckets, max_seqs);
  for (uint32_t i = 0; i < limits_.buckets.count && limits_.buckets.sizes[i] <= largest; ++i) {
    GraphKey key;
    key.bucket = limits_.buckets.sizes[i];
    key.rows_per_seq = rows_per_seq;
    capture_one(key);
    key.outputs = OutputsKind::every_row;
    // With one row per sequence, or no room for more outputs, the two kinds are the same.
    if (rows_per_seq > 1 && limits_.max_outputs > key.bucket) capture_one(key);
  }
}

}  // namespace tdl
