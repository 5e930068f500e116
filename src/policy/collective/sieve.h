// Data sieving: to move many small runs as few large ones, with the holes between them. Pure.
#pragma once

#include <span>
#include <vector>

#include "layout/layout.h"
#include "policy/collective/plan.h"

namespace tutti {

// Joins extents, which ascend, over holes of at most `hole` bytes, while the result is not longer than
// `most`. An extent longer than that stays as it is.
std::vector<Extent> join_over_holes(std::span<const Extent> extents, Bytes hole, Bytes most);

struct SieveFacts {
  Bytes bytes;             // wanted
  std::uint64_t runs = 0;  // of the file
  Bytes span;              // from the first to behind the last
};

// A run of a list costs a server about as much as this many bytes of one large transfer: a smaller hole is
// read over.
inline constexpr Bytes kWorthReading = 4_KiB;

// Whether an independent read should sieve: if asked to, or by itself if the runs are so small and so near to
// each other that reading the holes is cheaper than naming the runs.
bool sieve_read(const SieveFacts& facts, Toggle toggle);
// A write sieves only if asked to: it must then read, change and write back under a lock, and naming the runs
// is exact.
bool sieve_write(const SieveFacts& facts, Toggle toggle);

}  // namespace tutti
