// Linearizable: whether the operations of a history on one file can be put in an order that explains every answer, such
// that none comes before one that had ended when it began. Pure.
//
// The file is a list of blocks; a block holds the value of the write that wrote it last, or 0 if it is a hole. The search
// is that of Wing and Gong, with a memory of what was tried: it takes long only if many operations overlap.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace tutti {

struct HistoryOperation {
  enum class Kind : std::uint8_t { write, truncate, read, size };
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  Kind kind = Kind::write;
  std::uint64_t begin = 0;
  std::uint64_t end = kNever;            // kNever: nobody knows whether it took place, or when
  std::uint64_t first = 0;               // write, read: the first block; truncate, size: the length in blocks
  std::uint64_t count = 0;               // write, read: how many blocks
  std::uint32_t value = 0;               // write: of all its blocks
  std::vector<std::uint32_t> seen = {};  // read: what came, less at the end of the file
  bool may_be_left_out = false;          // it need not have taken place, also if its end is known

  [[nodiscard]] std::string text() const;
};

// At most 64 operations. Code::internal with the history if there is no such order, Code::too_large if the search was
// given up.
Status linearizable(std::span<const HistoryOperation> history);

// The same for a file whose blocks are on several servers: a write or a cut of many blocks is one of each block, and the
// blocks are judged one by one, as far as anything is said about each.
Status linearizable_blocks(std::span<const HistoryOperation> history, std::uint64_t blocks);

}  // namespace tutti
