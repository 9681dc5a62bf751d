#include "kernels/step_args.h"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace tdl;

namespace {

AttnMetadata full() {
  AttnMetadata meta;
  meta.positions = {0x1000};
  meta.positions_h = {0x2000};
  meta.positions_w = {0x3000};
  meta.slot = {0x4000};
  meta.seq_len = {0x5000};
  meta.block_table = {0x6000};
  meta.query_start = {0x7000};
  meta.seq_slot = {0x8000};
  meta.moe_row_adapter = {0x9000};
  meta.max_blocks_per_seq = 33;
  meta.num_seqs = 8;
  return meta;
}

}  // namespace

TEST_SUITE("row_view") {
  TEST_CASE("advances each array by its own element, the table by whole rows") {
    const AttnMetadata view = row_view(full(), 3);
    CHECK(view.positions.address == 0x1000 + 3 * 4);
    CHECK(view.positions_h.address == 0x2000 + 3 * 4);
    CHECK(view.positions_w.address == 0x3000 + 3 * 4);
    CHECK(view.slot.address == 0x4000 + 3 * 8);
    CHECK(view.seq_len.address == 0x5000 + 3 * 4);
    CHECK(view.block_table.address == 0x6000 + 3 * 33 * 4);
    CHECK(view.query_start.address == 0x7000 + 3 * 4);
    CHECK(view.seq_slot.address == 0x8000 + 3 * 4);
    CHECK(view.moe_row_adapter.address == 0x9000 + 3 * 4);
    CHECK(view.max_blocks_per_seq == 33);
    CHECK(view.num_seqs == 5);
  }

  TEST_CASE("leaves null arrays null") {
    const AttnMetadata empty{};
    for (const uint32_t base : {0u, 1u, 7u}) {
      AttnMetadata none{};
      none.num_seqs = 8;
      none.max_blocks_per_seq = 5;
      AttnMetadata view = row_view(none, base);
      view.num_seqs = empty.num_seqs;
      view.max_blocks_per_seq = empty.max_blocks_per_seq;
      CHECK(view == empty);
    }
    AttnMetadata meta = full();
    meta.query_start = {};
    meta.seq_slot = {};
    meta.moe_row_adapter = {};
    const AttnMetadata view = row_view(meta, 7);
    CHECK(!view.query_start);
    CHECK(!view.seq_slot);
    CHECK(!view.moe_row_adapter);
    CHECK(view.positions.address == 0x1000 + 7 * 4);
  }

  TEST_CASE("from row 0 it is the whole, and views of views add up") {
    CHECK(row_view(full(), 0) == full());
    CHECK(row_view(row_view(full(), 2), 3) == row_view(full(), 5));
    CHECK(row_view(full(), 7).num_seqs == 1);
  }

  TEST_CASE("the table's advance does not wrap at 32 bits") {
    AttnMetadata meta = full();
    meta.max_blocks_per_seq = 1u << 20;
    meta.num_seqs = 1u << 16;
    CHECK(row_view(meta, 65535).block_table.address == 0x6000 + uint64_t{65535} * (1u << 20) * 4);
  }
}
