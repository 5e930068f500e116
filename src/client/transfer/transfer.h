// Transfer: the way of a read or a write, from the caller's lists to the answers of the servers.
//
//   split    file extents and memory -> a share for each server      split.h
//   gate     whether it may begin                                    gate.h
//   cut      shares -> pieces, each of them one message              cut.h
//   (pieces that may be read locally without asking are done here    local_read.h)
//   order    whose piece goes next, whenever one may                 order.h, policy/target
//   send     pieces in flight, repeated until there is an answer     send.h, client/server_session.h
//   gather   answers -> memory, and the end of the file              gather.h
//
// A transfer that is one piece takes the same way without memory from the heap of its own and without tasks beside it.
#pragma once

#include <optional>
#include <span>

#include "client/transfer/cut.h"
#include "client/transfer/send.h"

namespace tutti {

// The file extents of a transfer: one, held here, or a list that the caller holds until the transfer ends.
class FileExtents {
 public:
  explicit FileExtents(Extent one) : one_(one), single_(true) {}
  explicit FileExtents(std::span<const Extent> list) : list_(list) {}
  [[nodiscard]] std::span<const Extent> list() const {
    return single_ ? std::span<const Extent>(&one_, 1) : list_;
  }

 private:
  Extent one_;
  std::span<const Extent> list_;
  bool single_ = false;
};

// Both lists have the same length in all. `file` must outlive the task. How many bytes count as read: fewer at the end
// of the file only; holes and what lies behind the end are zeros in memory.
// With a view, the memory is one segment and the extents are those of the same bytes in the view's data, which the caller
// holds too.
Task<Result<Bytes>> read_extents(StripedFile& file, FileExtents extents, Segments memory, ViewUse view = {});
// All or an error.
Task<Status> write_extents(StripedFile& file, FileExtents extents, Segments memory, ViewUse view = {});
// Has the servers fetch what will be read soon; ends when it is queued at all of them. A hint.
Task<Status> prefetch_extents(StripedFile& file, FileExtents extents);

}  // namespace tutti
