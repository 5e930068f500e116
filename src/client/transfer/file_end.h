// The end of a file, as a read finds it while others write.
//
// An object that is shorter than what was asked for tells nothing by itself: the file may end there, or have a hole, or
// somebody may be about to write. So the length of the file is asked for after the read, and what was not there but lies
// before that end is read again. What is still not there is a hole that existed when the length was told, because the
// object was too short before and after, and was not cut in between. Where the file has become shorter than what was
// there, all is read again. So every byte that counts was written, or was a hole at one moment.
//
// Where a file has become longer since its handle last saw the end, what looks like a hole is most likely a write of several messages,
// the later of which came first. It is looked at some times more, for 60 ms in all. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "client/transfer/cut.h"
#include "layout/layout.h"

namespace tutti {

// A piece of a read that was not all there.
struct ShortPiece {
  const Extent* name = nullptr;  // where its extents lie
  Bytes missing_from;            // in the file: the first byte that was not there,
  Bytes present_end;             // and the end of those that were
  std::uint64_t cuts = 0;        // how often its server had made objects shorter
  bool cut_meanwhile = false;    // more was there when the server looked

  // A piece whose object ended at `valid_end` by the word of its server.
  static ShortPiece of(const Piece& piece, const Layout& layout, Bytes valid_end, std::uint64_t cuts,
                       bool cut_meanwhile);
};

using ShortPieces = std::vector<ShortPiece>;

// The end in the file of what a piece has, if its object ends at `valid_end`; 0 if it has nothing.
Bytes present_end(const Piece& piece, const Layout& layout, Bytes valid_end);

// Whether nothing that lies before the end was missing.
bool ends_at(const ShortPieces& pieces, Bytes length);
// Whether what was missing again was missing all the time.
bool holes(const ShortPieces& before, const ShortPieces& again);
// Whether some of what is missing before `length` lies behind the end that the handle knew.
bool appeared(const ShortPieces& pieces, Bytes known_end, Bytes length);

}  // namespace tutti
