// A pass: one shape of work.  upload -> submit, as often as wanted; the engine orders what several passes submit.
#pragma once
#include <cstdint>
#include <memory>

#include "runtime/engine.h"

namespace tdl {

struct PassDesc {
  int32_t kind = 0;
  uint32_t num_seqs = 0, rows_per_seq = 0, max_rows = 0;  // 0 = default
  bool sample = true;
};

// Where a pass's kernels read its metadata (tdl_metadata_view): addresses, 0 = null.
struct MetadataView {
  AttnMetadata meta;
  uint32_t rows;  // padding included
  uint64_t token_ids, logits, tokens, hidden;
};

class Pass {
 public:
  static Result<std::unique_ptr<Pass>> begin(Engine& engine, const PassDesc& desc);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // How many outputs an upload asks for; limit when its counts are beyond the pass's, before any array is read.
  Result<uint32_t> count_outputs(const Upload& upload) const;
  Status upload(const Upload& upload);
  // The arrays of the next upload, to fill in place; every array that the block has, at its full size.
  Result<Upload> map();
  // Enqueues the pass over the fresh upload; *ticket only on success.
  Status submit(uint64_t* ticket);
  Status step(ResultRequest* request);
  // The outputs of the engine's last submit; state unless it was this pass's, unsampled, with no upload since.
  Result<uint32_t> outputs_to_sample() const;
  Status sample(ResultRequest* request);
  Result<MetadataView> view() const;

 private:
  Pass(Engine& engine, const PassLimits& limits, bool sample) : engine_(engine), limits_(limits), sample_(sample) {}
  Status check_free() const;  // that another upload may follow
  Status check_fresh() const;
  Status check_mapped(const Upload& upload) const;
  Status enqueue(TicketRecord& record);
  Status run(TicketRecord& record, const ForwardArgs& args, const PassControl& control, const GraphKey& key);

  Engine& engine_;
  PassLimits limits_;
  bool sample_;
  bool uploaded_ = false;
  PassShape shape_;  // of the last upload
};

}  // namespace tdl
