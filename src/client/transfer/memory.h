// Memory: the caller's buffer as segments, and a walk through it. Pure but for the bytes it names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/small_vector.h"
#include "base/units.h"
#include "env/network.h"

namespace tutti {

using Segments = SmallVector<Segment, 4>;

// Our own memory, as a segment names it.
std::byte* pointer(std::uint64_t address);
// Appends memory to a list; neighbours become one segment.
void append(Segments& list, Segment segment);
// Copies `bytes` into the segments, which have the same length in all.
void scatter(std::span<const std::byte> bytes, std::span<const Segment> memory);
// Sets the bytes from `begin` to `end`, counted through the segments, to zero.
void zero(std::span<const Segment> memory, std::uint64_t begin, std::uint64_t end);

// Touches every page, so that nobody who reaches into the memory has to wait for it: whatever it is mapped from is waited
// for here. `to_write`: it will be written to.
void bring_in(std::span<const Segment> memory, bool to_write);

// Hands out the segments of a buffer from its begin to its end.
class MemoryWalk {
 public:
  explicit MemoryWalk(std::span<const Segment> memory) : memory_(memory) {}
  // The next so many bytes, which must be there; valid until the next call.
  std::span<const Segment> next(Bytes length);

 private:
  std::span<const Segment> memory_;
  std::size_t segment_ = 0;  // the first one that is not handed out whole
  std::uint64_t used_ = 0;   // how much of it is
  Segments parts_;
};

}  // namespace tutti
