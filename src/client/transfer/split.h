// Split: the first step of a transfer. File extents and the caller's memory become one share for each server. Pure.
#pragma once

#include <algorithm>
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

// Walks a checked transfer stripe by stripe, in the order of its bytes: place(slot, offset in the object, length, memory).
// Stops when that returns false; whether it went to the end.
template <typename Place>
bool for_each_stripe(const Layout& layout, std::span<const Extent> file, std::span<const Segment> memory,
                     Place place);

// The shares of a checked transfer, one for each slot that has any bytes, in order of first touch. Takes time in
// proportion to the extents, the segments and the stripes they touch.
Shares split(const Layout& layout, std::span<const Extent> file, std::span<const Segment> memory);

template <typename Place>
bool for_each_stripe(const Layout& layout, std::span<const Extent> file, std::span<const Segment> memory,
                     Place place) {
  MemoryWalk walk(memory);
  const bool striped = layout.stripe_count > 1;
  for (const Extent& extent : file) {
    if (extent.length == 0_B) continue;
    std::uint32_t slot = striped ? layout.slot_of(extent.offset) : 0;
    Bytes object = layout.object_offset(extent.offset);
    Bytes left = extent.length;
    Bytes in_stripe = striped ? layout.stripe_size - extent.offset % layout.stripe_size : left;
    for (;;) {
      const Bytes length = std::min(in_stripe, left);
      if (!place(slot, object, length, walk.next(length))) return false;
      left -= length;
      if (left == 0_B) break;
      // The next stripe begins at the same place of the next slot's object, or one round later in the first one's.
      object = object + length - layout.stripe_size;
      if (++slot == layout.stripe_count) {
        slot = 0;
        object += layout.stripe_size;
      }
      in_stripe = layout.stripe_size;
    }
  }
  return true;
}

}  // namespace tutti
