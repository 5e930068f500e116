#include "client/transfer/gather.h"

#include <algorithm>

namespace tutti {

Bytes valid_part(const Extent& extent, Bytes valid_end) {
  if (valid_end <= extent.offset) return 0_B;
  return std::min(valid_end - extent.offset, extent.length);
}

bool gather(const Piece& piece, const ReadAnswer& answer, bool& short_read) {
  if (answer.inside) {
    if (answer.inside->size() != piece.length.count()) return false;
    scatter(*answer.inside, piece.memory);
  }
  const auto whole = [&](const Extent& extent) { return extent.end() <= answer.valid_end; };
  if (std::all_of(piece.object.begin(), piece.object.end(), whole)) return true;
  short_read = true;
  MemoryWalk walk(piece.memory);
  for (const Extent& extent : piece.object) {
    zero(walk.next(extent.length), valid_part(extent, answer.valid_end).count(), extent.length.count());
  }
  return true;
}

Bytes bytes_before(Bytes length, std::span<const Extent> file) {
  Bytes at;
  Bytes last;
  for (const Extent& extent : file) {
    if (extent.offset < length && extent.length > 0_B)
      last = at + std::min(extent.length, length - extent.offset);
    at += extent.length;
  }
  return last;
}

}  // namespace tutti
