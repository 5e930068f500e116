// Split: the first step of a transfer. File extents and the caller's memory become one share for each server. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "base/small_vector.h"
#include "base/status.h"
#include "client/transfer/memory.h"
#include "layout/layout.h"

namespace tutti {

using Extents = SmallVector<Extent, 2>;

// The part of a transfer that falls on one server: extents of its object and the memory of the same bytes, neighbours
// merged, both in the order of the transfer.
struct Share {
  std::uint32_t slot = 0;
  Bytes length;
  Extents object;
  Segments memory;
};
using Shares = SmallVector<Share, 4>;

// Whether the lists can be a transfer: no extent and no sum past what fits, both lists of the same length in all.
// Code::too_large or Code::invalid.
Status check_lists(std::span<const Extent> file, std::span<const Segment> memory);

// The shares of a checked transfer, one for each slot that has any bytes, in order of first touch. Takes time in
// proportion to the extents, the segments and the stripes they touch.
Shares split(const Layout& layout, std::span<const Extent> file, std::span<const Segment> memory);

}  // namespace tutti
