// A staggered start on a file system that is not Tutti's: where a client begins with a contiguous range so that the clients of a
// program do not all begin at the same server. `hash`, as far as calls in file order can have it. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "base/extent.h"
#include "base/units.h"

namespace tutti {

// How the other file system stripes: `unit` bytes on each of `servers` in turn, from offset 0 on.
struct ForeignStriping {
  Bytes unit;
  std::uint32_t servers = 0;
  [[nodiscard]] bool known() const { return unit > 0_B && servers > 1; }
};

// The range in the order in which a client of this rank goes through it: from the first stripe of its own server to the end, then
// what lies before. The second part is empty if the range has no such stripe, or begins in one.
std::array<Extent, 2> staggered(Extent range, const ForeignStriping& striping, std::uint32_t rank);

}  // namespace tutti
