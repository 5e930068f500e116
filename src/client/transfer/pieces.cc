#include "client/transfer/pieces.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/messages.h"

namespace tutti {
namespace {

constexpr std::size_t kExtentsPerPiece = 1024;
static_assert(kExtentsPerPiece <= wire::kMaxExtents && kExtentsPerPiece <= wire::kMaxSegments);

}  // namespace

std::vector<Piece> cut_into_pieces(std::span<const Share> shares, std::span<const Segment> memory,
                                   Bytes most) {
  std::vector<std::uint64_t> begins;  // where each segment begins in the buffer
  begins.reserve(memory.size());
  std::uint64_t sum = 0;
  for (const Segment& segment : memory) {
    begins.push_back(sum);
    sum += segment.length;
  }
  std::vector<std::pair<std::size_t, Piece>> ranked;  // by the rank of the piece in its share
  for (const Share& share : shares) {
    std::size_t rank = 0;
    Piece piece;
    std::size_t object = 0;
    Bytes object_done;
    for (const Extent& place : share.buffer) {
      std::uint64_t at = place.offset.count();
      auto segment =
          static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), at) - begins.begin()) - 1;
      while (at < place.end().count()) {
        if (piece.length == most || piece.object.size() == kExtentsPerPiece ||
            piece.memory.size() == kExtentsPerPiece) {
          ranked.emplace_back(rank++, std::exchange(piece, Piece()));
        }
        const std::uint64_t in_segment = at - begins[segment];
        const Extent& extent = share.object[object];
        const Bytes step =
            std::min({Bytes(place.end().count() - at), Bytes(memory[segment].length - in_segment),
                      extent.length - object_done, most - piece.length});
        piece.slot = share.slot;
        const Extent part{extent.offset + object_done, step};
        if (!piece.object.empty() && piece.object.back().end() == part.offset) {
          piece.object.back().length += step;
        } else {
          piece.object.push_back(part);
        }
        piece.memory.push_back(Segment{memory[segment].address + in_segment, step.count()});
        piece.length += step;
        at += step.count();
        object_done += step;
        if (object_done == extent.length) {
          ++object;
          object_done = 0_B;
        }
        if (in_segment + step.count() == memory[segment].length) ++segment;
      }
    }
    if (piece.length > 0_B) ranked.emplace_back(rank, std::move(piece));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Piece> pieces;
  pieces.reserve(ranked.size());
  for (auto& [rank, piece] : ranked) pieces.push_back(std::move(piece));
  return pieces;
}

std::byte* pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void zero(std::span<const Segment> memory, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t at = 0;
  for (const Segment& segment : memory) {
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + segment.length);
    if (from < to) std::memset(pointer(segment.address) + (from - at), 0, to - from);
    at += segment.length;
  }
}

}  // namespace tutti
