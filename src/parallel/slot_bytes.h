// How many bytes of a range of a view lie on each of a file's servers. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/layout.h"
#include "layout/view_range.h"

namespace tutti {

// By slot of the layout; the sum is always the range's. `runs` is about how many runs of the file the range
// has.
//
// Exact for a range without holes, and for any other whose stripes or runs are at most kMostCounted. Beyond
// that counting would cost as much as moving small runs does: the bytes are then taken to be spread evenly
// from the first to the last.
inline constexpr std::uint64_t kMostCounted = 4096;
std::vector<Bytes> bytes_by_slot(const ViewRange& range, std::uint64_t runs, const Layout& layout);

}  // namespace tutti
