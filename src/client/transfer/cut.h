// Cut: a step of a transfer. Shares become pieces, each of them one message: those of one share behind each other, in the
// order of the transfer. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/small_vector.h"
#include "client/transfer/split.h"

namespace tutti {

// One message's worth of a transfer: extents of an object and the memory of the same bytes.
struct Piece {
  std::uint32_t slot = 0;
  Bytes length;
  std::span<const Extent> object;
  std::span<const Segment> memory;
};

struct PieceLimits {
  Bytes bytes;                 // at least 1
  std::size_t entries = 1024;  // extents, and segments
};

// The pieces of a transfer. Those of a transfer in which no share is too large for one message lie in the shares, which
// must stay where they are.
class Pieces {
 public:
  // Takes time in proportion to the extents, segments and pieces.
  static Pieces cut(std::span<const Share> shares, const PieceLimits& limits);

  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  const Piece& operator[](std::size_t index) const { return pieces_[index]; }
  // Drops the pieces for which `done` says so; the others keep their order.
  template <typename Done>
  void drop(Done done);

 private:
  class Cutter;
  SmallVector<Piece, 4> pieces_;
  std::vector<Extent> extents_;  // of the pieces, one behind the other, if shares had to be cut
  std::vector<Segment> segments_;
};

template <typename Done>
void Pieces::drop(Done done) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (done(pieces_[i])) continue;
    if (kept != i) pieces_[kept] = pieces_[i];
    ++kept;
  }
  pieces_.shrink(kept);
}

}  // namespace tutti
