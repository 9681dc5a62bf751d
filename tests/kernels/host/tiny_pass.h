// A whole decode pass of a model with one layer, at fixed addresses: for capture and for "the same bits" over all stages together.
#pragma once
#include "tests/kernels/host/paged.h"

namespace tdl::test {

struct TinyPass {
  static constexpr uint32_t kHidden = 48, kInner = 80, kVocab = 70, kMostRows = 8, kStride = 48, kBlocks = kMostRows * kStride;
  static constexpr AttentionShape kShape = {4, 2, 16, 16};
  static constexpr uint32_t kQkv = 8 * 16, kOut = 4 * 16;

  uint32_t rows;  // the bucket
  Random random{21};
  Weights table, w_qkv, w_o, w_gate_up, w_down;
  Array<float> norm, bias, inv_freq;
  Array<float> hidden, cos_sin, normed, qkv, attended, gate_up, inner, hidden_out, logits, partials, cache;
  Array<PassHeader> header = header_of(0);
  Array<uint32_t> tokens, positions, seq_len, chunk_start, sampled;
  Array<int32_t> from, blocks, output_row, row_status;
  Array<int64_t> slot;

  explicit TinyPass(uint32_t bucket)
      : rows(bucket), table(kVocab, kHidden, DType::bf16, random), w_qkv(kQkv, kHidden, DType::bf16, random),
        w_o(kHidden, kOut, DType::f16, random), w_gate_up(2 * kInner, kHidden, DType::bf16, random),
        w_down(kHidden, kInner, DType::f32, random), norm(random.floats(kHidden, 0.5f, 1.5f)), bias(random.floats(kQkv)),
        inv_freq(random.floats(kShape.head_dim / 2, 0, 1)), hidden(rows * kHidden), cos_sin(rows * kShape.head_dim),
        normed(rows * kHidden), qkv(rows * kQkv), attended(rows * kOut), gate_up(rows * 2 * kInner), inner(rows * kInner),
        hidden_out(rows * kHidden), logits(rows * kVocab), partials(size_t{64} * kShape.heads * (kShape.head_dim + 2)),
        cache(random.floats(size_t{kBlocks} * kShape.kv_heads * 2 * kShape.block_size * kShape.head_dim)), tokens(rows), positions(rows),
        seq_len(rows), chunk_start(rows + 1), sampled(std::vector<uint32_t>(rows, kNoToken)), from(rows), blocks(size_t{rows} * kStride),
        output_row(rows), row_status(rows), slot(rows) {}

  // The metadata of a decode of sequences with these lengths; the rest of the bucket is padding.
  void upload(const std::vector<uint32_t>& lengths, uint32_t seed) {
    Random content(seed);
    const uint32_t live = static_cast<uint32_t>(lengths.size());
    header[0].num_rows = header[0].num_seqs = header[0].num_outputs = live;
    header[0].table_stride = kStride - seed % 3;
    chunk_start[0] = 0;
    for (uint32_t row = 0; row < rows; ++row) {
      const uint32_t length = row < live ? lengths[row] : 0;
      tokens[row] = row < live ? content.below(kVocab) : 0;
      from[row] = row < live && row % 2 ? static_cast<int32_t>(live - 1 - row) : -1;
      positions[row] = length ? length - 1 : 0;
      seq_len[row] = length;
      chunk_start[row + 1] = chunk_start[row] + (length + kAttentionChunk - 1) / kAttentionChunk;
      output_row[row] = row < live ? static_cast<int32_t>(row) : -1;
      for (uint32_t b = 0; row < live && b < header[0].table_stride; ++b)
        blocks[row * header[0].table_stride + b] = static_cast<int32_t>((b * kMostRows + row + seed) % kBlocks);  // shared by no two rows
      const uint32_t last = length ? (length - 1) / kShape.block_size : 0;
      slot[row] = length ? int64_t{blocks[row * header[0].table_stride + last]} * kShape.block_size + (length - 1) % kShape.block_size : -1;
    }
    header[0].num_chunks = chunk_start[live];
  }

  Status enqueue(const StageTable& stages, Stream& stream) {
    AttnMetadata meta = {};
    meta.positions = meta.positions_h = meta.positions_w = positions.view();
    meta.slot = slot.view();
    meta.seq_len = seq_len.view();
    meta.block_table = blocks.view();
    meta.max_blocks_per_seq = kStride;
    meta.num_seqs = rows;
    const DevicePtr<const PassHeader> head = header.view();
    const KvLayer kv = {{cache.ptr().address}, DType::f32};
    TDL_TRY(stages.embed({head, meta, tokens.view(), from.view(), sampled.view(), table.matrix(), inv_freq.view(), hidden.ptr(),
                          cos_sin.ptr(), 1.0f, rows, kHidden, kShape.head_dim, kVocab}, stream));
    TDL_TRY(stages.qkv({head, hidden.view(), norm.view(), w_qkv.matrix(), bias.view(), normed.ptr(), qkv.ptr(), 1e-5f, rows}, stream));
    TDL_TRY(stages.rope_kv({head, meta, kShape, cos_sin.view(), {}, {}, qkv.ptr(), kv, 1e-5f, rows}, stream));
    TDL_TRY(stages.attention({head, meta, kShape, chunk_start.view(), qkv.view(), kv, attended.ptr(), DType::f32, partials.ptr(), {}, 64, 0.25f, 0,
                              rows, 1}, stream));
    TDL_TRY(stages.linear_residual({head, attended.view(), w_o.matrix(), {}, hidden.ptr(), rows}, stream));
    TDL_TRY(stages.gate_up({head, hidden.view(), norm.view(), w_gate_up.matrix(), {}, normed.ptr(), gate_up.ptr(), inner.ptr(), DType::f32, 1e-5f,
                            rows}, stream));
    TDL_TRY(stages.linear_residual({head, inner.view(), w_down.matrix(), {}, hidden.ptr(), rows}, stream));
    TDL_TRY(stages.head({head, output_row.view(), hidden.view(), norm.view(), table.matrix(), {}, hidden_out.ptr(), logits.ptr(),
                         row_status.ptr(), 1e-5f, rows}, stream));
    return stages.sample({head, output_row.view(), logits.view(), row_status.view(), sampled.ptr(), rows, kVocab}, stream);
  }
  // What a pass leaves behind.
  bool same_result(const TinyPass& other) const {
    return same_bits(logits, other.logits) && same_bits(hidden_out, other.hidden_out) && same_bits(hidden, other.hidden) &&
           same_bits(sampled, other.sampled) && same_bits(row_status, other.row_status) && same_bits(cache, other.cache);
  }
};

}  // namespace tdl::test
