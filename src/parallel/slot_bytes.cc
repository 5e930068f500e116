#include "parallel/slot_bytes.h"

#include <algorithm>

namespace tutti {
namespace {

// Adds the bytes of one extent of the file to their slots.
void add_extent(const Layout& layout, Extent extent, std::vector<Bytes>& slots) {
  if (extent.offset / layout.stripe_size == (extent.end() - 1_B) / layout.stripe_size) {
    slots[layout.slot_of(extent.offset)] += extent.length;
    return;
  }
  for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot) {
    slots[slot] += layout.object_length(slot, extent.end()) - layout.object_length(slot, extent.offset);
  }
}

void add_stripe_by_stripe(const ViewRange& range, const Layout& layout, std::vector<Bytes>& slots) {
  const Extent bounds = range.bounds();
  for (Bytes at = bounds.offset - bounds.offset % layout.stripe_size; at < bounds.end();
       at += layout.stripe_size) {
    slots[layout.slot_of(at)] += Bytes(static_cast<std::uint64_t>(range.bytes_in({at, layout.stripe_size})));
  }
}

void add_run_by_run(const ViewRange& range, const Layout& layout, std::vector<Bytes>& slots) {
  std::vector<PlacedRun> runs;
  range.cut(range.bounds(), runs);
  for (const PlacedRun& run : runs) {
    add_extent(layout,
               {Bytes(static_cast<std::uint64_t>(run.file)), Bytes(static_cast<std::uint64_t>(run.length))},
               slots);
  }
}

// Turns the bytes between first and last into as many in all as the range has, in the same proportion.
void scale(Bytes bytes, Bytes span, std::vector<Bytes>& slots) {
  const double share = static_cast<double>(bytes.count()) / static_cast<double>(span.count());
  Bytes left = bytes;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const Bytes scaled(static_cast<std::uint64_t>(static_cast<double>(slots[slot].count()) * share));
    slots[slot] = slot + 1 == slots.size() ? left : std::min(left, scaled);
    left -= slots[slot];
  }
}

}  // namespace

std::vector<Bytes> bytes_by_slot(const ViewRange& range, std::uint64_t runs, const Layout& layout) {
  std::vector<Bytes> slots(layout.stripe_count);
  if (range.bytes() == 0) return slots;
  const Bytes bytes(static_cast<std::uint64_t>(range.bytes()));
  const Extent bounds = range.bounds();
  if (range.ascending() && bytes == bounds.length) {
    add_extent(layout, bounds, slots);
  } else if (range.ascending() && bounds.length / layout.stripe_size < kMostCounted) {
    add_stripe_by_stripe(range, layout, slots);
  } else if (!range.ascending() || runs <= kMostCounted) {
    add_run_by_run(range, layout, slots);  // one that does not ascend has listed its runs already
  } else {
    add_extent(layout, bounds, slots);
    scale(bytes, bounds.length, slots);
  }
  return slots;
}

}  // namespace tutti
