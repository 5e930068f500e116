// Gather: the last step of a read. What the answers say becomes the caller's memory and the bytes that count. Pure but
// for the memory it fills.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "client/transfer/cut.h"

namespace tutti {

// What the answer to a read says of its bytes.
struct ReadAnswer {
  Bytes valid_end;  // bytes of the object at or past this offset were not there
  // The data, where it came inside the answer; otherwise it is in memory already.
  std::optional<std::span<const std::byte>> inside = std::nullopt;
};

// Fills the memory of a piece: data from inside the answer, zeros for what was not there. Sets `short_read` if anything
// was not. False if the answer contradicts the piece.
bool gather(const Piece& piece, const ReadAnswer& answer, bool& short_read);

// How many bytes of the extent lie before `valid_end`.
Bytes valid_part(const Extent& extent, Bytes valid_end);

// How many bytes of the extents count as read if the file is `length` long: all up to the last one before its end.
Bytes bytes_before(Bytes length, std::span<const Extent> file);

}  // namespace tutti
