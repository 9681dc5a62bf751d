#include "capi/src/metadata.h"

#include <cmath>

#include "capi/src/boundary.h"

namespace tdl::abi {
namespace {

Status check_one_sampling(const tdl_sampling& s, uint32_t index) {
  if (s.reserved) return fail(Code::version, "sampling[%u].reserved is not 0: newer than this library", index);
  struct Field {
    const char* name;
    float value, least, most;
  };
  const Field fields[] = {
      {"temperature", s.temperature, 0, INFINITY},
      {"top_p", s.top_p, 0, 1},
      {"min_p", s.min_p, 0, 1},
      {"repetition_penalty", s.repetition_penalty, 0, INFINITY},
      {"presence_penalty", s.presence_penalty, -INFINITY, INFINITY},
      {"frequency_penalty", s.frequency_penalty, -INFINITY, INFINITY},
  };
  for (const Field& f : fields) {
    if (!std::isfinite(f.value) || f.value < f.least || f.value > f.most)
      return fail(Code::invalid_argument, "sampling[%u].%s is %g", index, f.name, static_cast<double>(f.value));
  }
  if (s.temperature != 0) return fail(Code::unsupported, "sampling[%u].temperature %g: only greedy sampling is there yet", index, static_cast<double>(s.temperature));
  if ((s.repetition_penalty != 0 && s.repetition_penalty != 1) || s.presence_penalty != 0 || s.frequency_penalty != 0)
    return fail(Code::unsupported, "sampling[%u]: penalties are not there yet", index);
  return {};
}

Status check_sampling_fields(const tdl_metadata& m, uint32_t outputs) {
  if (m.penalty_start || m.penalty_token || m.penalty_count) return fail(Code::unsupported, "penalty_start, penalty_token, penalty_count are not there yet");
  if (m.mask || m.mask_row || m.num_masks) return fail(Code::unsupported, "mask, mask_row, num_masks are not there yet");
  if (m.num_logprobs) return fail(Code::unsupported, "num_logprobs %u: log-probabilities are not there yet", m.num_logprobs);
  if (!m.sampling || outputs == 0) return {};
  const auto* bytes = reinterpret_cast<const unsigned char*>(m.sampling);
  const uint32_t stride = m.sampling->struct_size;
  for (uint32_t o = 0; o < outputs; ++o) {
    const unsigned char* element = bytes + uint64_t{o} * stride;
    uint32_t size;
    std::memcpy(&size, element, sizeof size);
    if (size != stride) return fail(Code::invalid_argument, "sampling[%u].struct_size differs from element 0's", o);
    tdl_sampling local;
    TDL_TRY(read_bytes(element, &local, sizeof local, "tdl_sampling"));
    TDL_TRY(check_one_sampling(local, o));
  }
  return {};
}

Status check_embeds(const tdl_metadata& m) {
  if (m.embeds || m.embed_row || m.num_embeds || m.embeds_dtype) return fail(Code::unsupported, "embeds, embed_row, num_embeds, embeds_dtype are not there yet");
  if (m.deepstack || m.num_deepstack) return fail(Code::unsupported, "deepstack, num_deepstack are not there yet");
  return {};
}

}  // namespace

Result<Upload> read_metadata(const tdl_metadata* metadata) {
  tdl_metadata m;
  TDL_TRY(read_struct(metadata, &m, "tdl_metadata"));
  TDL_TRY(check_embeds(m));
  Upload upload;
  upload.num_rows = m.num_rows;
  upload.num_seqs = m.num_seqs;
  upload.max_blocks_per_seq = m.max_blocks_per_seq;
  upload.num_outputs = m.num_outputs;
  upload.token_ids = m.token_ids;
  upload.token_from = m.token_from;
  upload.positions = m.positions;
  upload.positions_h = m.positions_h;
  upload.positions_w = m.positions_w;
  upload.slot = m.slot;
  upload.seq_len = m.seq_len;
  upload.block_table = m.block_table;
  upload.query_start = m.query_start;
  upload.seq_slot = m.seq_slot;
  upload.moe_row_adapter = m.moe_row_adapter;
  upload.output_row = m.output_row;
  return upload;
}

Status check_sampling(const tdl_metadata* metadata, uint32_t outputs) {
  tdl_metadata m;
  TDL_TRY(read_struct(metadata, &m, "tdl_metadata"));
  return check_sampling_fields(m, outputs);
}

tdl_metadata mapped_metadata(const Upload& u) {
  tdl_metadata m{};
  m.num_rows = u.num_rows;
  m.num_seqs = u.num_seqs;
  m.max_blocks_per_seq = u.max_blocks_per_seq;
  m.num_outputs = u.num_outputs;
  m.token_ids = u.token_ids;
  m.token_from = u.token_from;
  m.positions = u.positions;
  m.positions_h = u.positions_h;
  m.positions_w = u.positions_w;
  m.slot = u.slot;
  m.seq_len = u.seq_len;
  m.block_table = u.block_table;
  m.query_start = u.query_start;
  m.seq_slot = u.seq_slot;
  m.moe_row_adapter = u.moe_row_adapter;
  m.output_row = u.output_row;
  return m;
}

tdl_metadata_view metadata_view(const MetadataView& seen) {
  tdl_metadata_view view{};
  view.max_blocks_per_seq = seen.meta.max_blocks_per_seq;
  view.num_seqs = seen.meta.num_seqs;
  view.num_rows = seen.rows;
  view.token_ids = seen.token_ids;
  view.positions = seen.meta.positions.address;
  view.positions_h = seen.meta.positions_h.address;
  view.positions_w = seen.meta.positions_w.address;
  view.slot = seen.meta.slot.address;
  view.seq_len = seen.meta.seq_len.address;
  view.block_table = seen.meta.block_table.address;
  view.query_start = seen.meta.query_start.address;
  view.seq_slot = seen.meta.seq_slot.address;
  view.moe_row_adapter = seen.meta.moe_row_adapter.address;
  view.logits = seen.logits;
  view.tokens = seen.tokens;
  view.hidden = seen.hidden;
  return view;
}

}  // namespace tdl::abi
