// What a captured decode graph is good for.  Only the key fixes grids, row counts and algorithms; everything else about a pass is read
// on the device from the metadata block.
#pragma once
#include <compare>
#include <cstdint>

namespace tdl {

enum class Route : uint8_t { none = 0, active = 1, rows = 2 };         // how LoRA is applied
enum class ExpertRoute : uint8_t { none = 0, rows = 1 };               // how expert deltas are
enum class OutputsKind : uint8_t { per_sequence = 0, every_row = 1 };  // outputs are padded to sequences or to rows

struct GraphKey {
  uint32_t bucket = 0;  // padded sequences
  uint32_t rows_per_seq = 1;
  Route route = Route::none;
  ExpertRoute expert_route = ExpertRoute::none;
  OutputsKind outputs = OutputsKind::per_sequence;

  friend constexpr auto operator<=>(const GraphKey&, const GraphKey&) = default;
};

}  // namespace tdl
