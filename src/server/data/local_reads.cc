#include "server/data/local_reads.h"

#include <algorithm>

namespace tutti {
bool LocalReadGrants::offer(Transfer& transfer) {
  LocalAccess& local = transfer.local;
  if (!shareable_ || local.known == 0) return false;
  // One small read is not worth a file.
  if (transfer.inside_reply && local.ahead == 0_B) return false;
  const SharedObject shared = store_.share(transfer.object);
  if (shared.file == nullptr) return false;
  if (shared.key != local.known && !transfer.session->connection->give(shared.key, *shared.file))
    return false;
  local.key = shared.key;
  transfer.inside_reply = false;
  local.object_length = shared.length;
  for (const Extent& extent : transfer.extents) {
    if (extent.end() > shared.length) transfer.valid_end = shared.length;
  }
  return true;
}

LocalReadGrants::Grant LocalReadGrants::grant(const Transfer& transfer) const {
  const Bytes bytes = std::min(transfer.local.ahead, most_ahead_);
  if (transfer.local.key == 0 || bytes == 0_B || transfer.local.object_length == 0_B) return {};
  transfer.session->granted.add(bytes);
  return {transfer.local.object_length, bytes, LocalGrants::kTime};
}

}  // namespace tutti
