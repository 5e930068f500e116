// Pieces: a striped transfer cut into messages. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "env/network.h"
#include "layout/layout.h"

namespace tutti {

// One message's worth of a transfer: extents of an object and the memory of the same bytes.
struct Piece {
  std::uint32_t slot = 0;
  std::vector<Extent> object;
  std::vector<Segment> memory;
  Bytes length;
};

// Cuts each server's share where a message would get too large: past `most` bytes, or too many extents. `memory` is
// the caller's buffer. Pieces of different servers alternate, so that all servers have work from the start.
std::vector<Piece> cut_into_pieces(std::span<const Share> shares, std::span<const Segment> memory,
                                   Bytes most);

// Our own memory, as a segment names it.
std::byte* pointer(std::uint64_t address);
// Sets the bytes from `begin` to `end`, counted through the segments, to zero.
void zero(std::span<const Segment> memory, std::uint64_t begin, std::uint64_t end);

}  // namespace tutti
