#include "client/transfer/cut.h"

#include <algorithm>

#include "wire/messages.h"

namespace tutti {
namespace {

static_assert(PieceLimits{}.entries <= wire::kMaxExtents && PieceLimits{}.entries <= wire::kMaxSegments);

bool fits(const Share& share, const PieceLimits& limits) {
  return share.length <= limits.bytes && share.object.size() <= limits.entries &&
         share.memory.size() <= limits.entries;
}

}  // namespace

// Cuts share after share into lists that grow; what belongs to which piece is kept by place until they are complete.
class Pieces::Cutter {
 public:
  Cutter(Pieces& into, const PieceLimits& limits) : into_(into), limits_(limits) {}

  void add(const Share& share) {
    begin(share.slot);
    std::size_t object = 0;
    std::size_t segment = 0;
    Bytes object_done;
    Bytes segment_done;
    while (object < share.object.size()) {
      if (full()) begin(share.slot);
      const Extent& extent = share.object[object];
      const Segment& memory = share.memory[segment];
      const Bytes step = std::min({extent.length - object_done, Bytes(memory.length) - segment_done,
                                   limits_.bytes - parts_.back().length});
      append(Extent{extent.offset + object_done, step});
      append(Segment{memory.address + segment_done.count(), step.count()});
      parts_.back().length += step;
      object_done += step;
      segment_done += step;
      if (object_done == extent.length) {
        ++object;
        object_done = 0_B;
      }
      if (segment_done == Bytes(memory.length)) {
        ++segment;
        segment_done = 0_B;
      }
    }
  }

  void finish() {
    into_.pieces_.reserve(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) name(i);
  }

 private:
  struct Part {
    std::uint32_t slot;
    Bytes length;
    std::size_t first_extent;
    std::size_t first_segment;
  };

  void begin(std::uint32_t slot) {
    parts_.push_back(Part{slot, 0_B, into_.extents_.size(), into_.segments_.size()});
  }
  [[nodiscard]] bool full() const {
    const Part& part = parts_.back();
    return part.length == limits_.bytes || into_.extents_.size() - part.first_extent == limits_.entries ||
           into_.segments_.size() - part.first_segment == limits_.entries;
  }
  void append(Extent extent) {
    auto& list = into_.extents_;
    if (list.size() > parts_.back().first_extent && list.back().end() == extent.offset) {
      list.back().length += extent.length;
    } else {
      list.push_back(extent);
    }
  }
  void append(Segment segment) {
    auto& list = into_.segments_;
    if (list.size() > parts_.back().first_segment &&
        list.back().address + list.back().length == segment.address) {
      list.back().length += segment.length;
    } else {
      list.push_back(segment);
    }
  }
  void name(std::size_t index) {
    const Part& part = parts_[index];
    const bool last = index + 1 == parts_.size();
    const std::size_t extents = last ? into_.extents_.size() : parts_[index + 1].first_extent;
    const std::size_t segments = last ? into_.segments_.size() : parts_[index + 1].first_segment;
    into_.pieces_.push_back(
        Piece{part.slot,
              part.length,
              {into_.extents_.data() + part.first_extent, extents - part.first_extent},
              {into_.segments_.data() + part.first_segment, segments - part.first_segment}});
  }

  Pieces& into_;
  const PieceLimits& limits_;
  std::vector<Part> parts_;
};

Pieces Pieces::cut(std::span<const Share> shares, const PieceLimits& limits) {
  Pieces pieces;
  if (std::all_of(shares.begin(), shares.end(), [&](const Share& share) { return fits(share, limits); })) {
    pieces.pieces_.reserve(shares.size());
    for (const Share& share : shares)
      pieces.pieces_.push_back(Piece{share.slot, share.length, share.object, share.memory});
    return pieces;
  }
  Cutter cutter(pieces, limits);
  for (const Share& share : shares) cutter.add(share);
  cutter.finish();
  return pieces;
}

}  // namespace tutti
