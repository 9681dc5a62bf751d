#include "runtime/step/layout.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

using namespace tdl;

namespace {

struct Section {
  std::string name;
  uint64_t offset, bytes;
};

// The sections of a group in the order they are to lie in, with the bytes that DESIGN's elements need.
std::vector<Section> sections_of(const GroupLayout& g, const std::string& group) {
  const uint64_t rows = g.max_rows, seqs = g.max_seqs;
  const Section all[] = {
      {"header", g.header, 64},
      {"token_ids", g.token_ids, rows * 4},
      {"token_from", g.token_from, rows * 4},
      {"positions", g.positions, rows * 4},
      {"slot", g.slot, rows * 8},
      {"chunk_start", g.chunk_start, (rows + 1) * 4},
      {"seq_len", g.seq_len, seqs * 4},
      {"output_row", g.output_row, uint64_t{g.max_outputs} * 4},
      {"query_start", g.query_start, (seqs + 1) * 4},
      {"positions_h", g.positions_h, rows * 4},
      {"positions_w", g.positions_w, rows * 4},
      {"seq_slot", g.seq_slot, rows * 4},
      {"moe_row_adapter", g.moe_row_adapter, rows * 4},
      {"block_table", g.block_table, seqs * g.max_table * 4},
  };
  std::vector<Section> there;
  for (const Section& section : all) {
    if (section.offset != kAbsent) there.push_back({group + "." + section.name, section.offset, section.bytes});
  }
  return there;
}

std::vector<Section> sections_of(const BlockLayout& layout) {
  std::vector<Section> all = sections_of(layout.decode, "decode");
  for (const Section& section : sections_of(layout.prefill, "prefill")) all.push_back(section);
  return all;
}

constexpr LayoutLimits kPlain = {4, 2, 100, 8, 10, false, false, false};
constexpr LayoutLimits kOdd[] = {
    kPlain,
    {1, 1, 1, 1, 1, false, false, false},
    {3, 5, 7, 13, 1, true, true, true},
    {63, 1, 2047, 63, 129, true, false, false},
    {64, 1, 2048, 64, 64, false, true, false},
    {65, 3, 2049, 1, 65, false, true, true},
    {65536, 16, 1 << 20, 1 << 20, 8191, true, true, true},
};

}  // namespace

TEST_SUITE("layout") {
  TEST_CASE("every section is aligned to 256 bytes and no two overlap") {
    for (const LayoutLimits& limits : kOdd) {
      const BlockLayout layout = make_layout(limits);
      const std::vector<Section> all = sections_of(layout);
      for (size_t i = 0; i < all.size(); ++i) {
        CAPTURE(all[i].name);
        CHECK(all[i].offset % 256 == 0);
        CHECK(all[i].bytes > 0);
        CHECK(all[i].offset + all[i].bytes <= layout.bytes);
        for (size_t k = i + 1; k < all.size(); ++k) {
          CAPTURE(all[k].name);
          CHECK((all[i].offset + all[i].bytes <= all[k].offset || all[k].offset + all[k].bytes <= all[i].offset));
        }
      }
    }
  }

  TEST_CASE("nothing is wasted but the alignment") {
    for (const LayoutLimits& limits : kOdd) {
      const BlockLayout layout = make_layout(limits);
      uint64_t bytes = 0;
      for (const Section& section : sections_of(layout)) bytes += (section.bytes + 255) / 256 * 256;
      CHECK(layout.bytes == bytes);
      CHECK(layout.bytes % 256 == 0);
    }
  }

  TEST_CASE("decode's group comes first, each group begins with its header and ends with its table") {
    for (const LayoutLimits& limits : kOdd) {
      const BlockLayout layout = make_layout(limits);
      CHECK(layout.decode.header == 0);
      CHECK(layout.prefill.header == layout.decode.end);
      CHECK(layout.bytes == layout.prefill.end);
      for (const GroupLayout* group : {&layout.decode, &layout.prefill}) {
        for (const Section& section : sections_of(*group, "group")) {
          CAPTURE(section.name);
          CHECK(section.offset >= group->header);
          CHECK(section.offset <= group->block_table);
        }
        CHECK(group->end == align_up(group->block_table + uint64_t{limits.max_seqs} * limits.max_table * 4, 256));
      }
    }
  }

  TEST_CASE("the sections of a group lie in the order in which they are listed") {
    const BlockLayout layout = make_layout({3, 5, 7, 13, 1, true, true, true});
    for (const GroupLayout* group : {&layout.decode, &layout.prefill}) {
      const std::vector<Section> sections = sections_of(*group, "group");
      for (size_t i = 1; i < sections.size(); ++i) {
        CAPTURE(sections[i].name);
        CHECK(sections[i].offset > sections[i - 1].offset);
      }
    }
  }

  TEST_CASE("each group is sized by the largest pass of its kind") {
    const BlockLayout layout = make_layout(kPlain);
    CHECK(layout.decode.max_rows == 8);
    CHECK(layout.prefill.max_rows == 100);
    for (const GroupLayout* group : {&layout.decode, &layout.prefill}) {
      CHECK(group->max_seqs == 4);
      CHECK(group->max_outputs == 8);
      CHECK(group->max_table == 10);
    }
  }

  TEST_CASE("query_start is prefill's alone") {
    const BlockLayout layout = make_layout({3, 5, 7, 13, 1, true, true, true});
    CHECK(layout.decode.query_start == kAbsent);
    CHECK(layout.prefill.query_start != kAbsent);
  }

  TEST_CASE("MRoPE's streams are there on prefill, and only with MRoPE") {
    for (const bool mrope : {false, true}) {
      LayoutLimits limits = kPlain;
      limits.mrope = mrope;
      const BlockLayout layout = make_layout(limits);
      CHECK(layout.decode.positions_h == kAbsent);
      CHECK(layout.decode.positions_w == kAbsent);
      CHECK((layout.prefill.positions_h != kAbsent) == mrope);
      CHECK((layout.prefill.positions_w != kAbsent) == mrope);
    }
  }

  TEST_CASE("adapters and expert adapters have sections in both groups, and only where the engine has them") {
    for (const bool adapters : {false, true}) {
      for (const bool experts : {false, true}) {
        LayoutLimits limits = kPlain;
        limits.adapters = adapters;
        limits.expert_adapters = experts;
        const BlockLayout layout = make_layout(limits);
        for (const GroupLayout* group : {&layout.decode, &layout.prefill}) {
          CHECK((group->seq_slot != kAbsent) == adapters);
          CHECK((group->moe_row_adapter != kAbsent) == experts);
        }
      }
    }
  }

  TEST_CASE("a decode of 64 sequences goes up in a few KB") {
    const BlockLayout layout = make_layout({64, 1, 2048, 64, 64, false, true, true});
    CHECK(layout.decode.block_table - layout.decode.header <= 4096);
  }

  TEST_CASE("align_up rounds to the next multiple and leaves multiples alone") {
    CHECK(align_up(0, 256) == 0);
    CHECK(align_up(1, 256) == 256);
    CHECK(align_up(256, 256) == 256);
    CHECK(align_up((uint64_t{1} << 40) + 1, 256) == (uint64_t{1} << 40) + 256);
  }
}
