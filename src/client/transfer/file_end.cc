#include "client/transfer/file_end.h"

#include <algorithm>

namespace tutti {

Bytes present_end(const Piece& piece, const Layout& layout, Bytes valid_end) {
  Bytes end;
  for (const Extent& extent : piece.object) {
    if (extent.offset < valid_end) end = std::max(end, std::min(extent.end(), valid_end));
  }
  return end == 0_B ? 0_B : layout.file_offset(piece.slot, end - 1_B) + 1_B;
}

ShortPiece ShortPiece::of(const Piece& piece, const Layout& layout, Bytes valid_end, std::uint64_t cuts,
                          bool cut_meanwhile) {
  Bytes missing = Bytes::max();
  for (const Extent& extent : piece.object) {
    if (extent.end() > valid_end) missing = std::min(missing, std::max(extent.offset, valid_end));
  }
  const Bytes from = cut_meanwhile ? 0_B : layout.file_offset(piece.slot, missing);
  return {piece.object.data(), from, tutti::present_end(piece, layout, valid_end), cuts, cut_meanwhile};
}

bool ends_at(const ShortPieces& pieces, Bytes length) {
  return std::all_of(pieces.begin(), pieces.end(),
                     [length](const ShortPiece& each) { return each.missing_from >= length; });
}

bool holes(const ShortPieces& before, const ShortPieces& again) {
  return std::all_of(again.begin(), again.end(), [&before](const ShortPiece& each) {
    const auto first = std::find_if(before.begin(), before.end(),
                                    [&each](const ShortPiece& other) { return other.name == each.name; });
    return first != before.end() && first->cuts == each.cuts && !first->cut_meanwhile && !each.cut_meanwhile;
  });
}

bool appeared(const ShortPieces& pieces, Bytes known_end, Bytes length) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const ShortPiece& each) {
    return each.missing_from >= known_end && each.missing_from < length;
  });
}

}  // namespace tutti
