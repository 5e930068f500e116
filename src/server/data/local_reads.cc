#include "server/data/local_reads.h"

#include <algorithm>

namespace tutti {
namespace {

// How long a grant holds: a change of policy, or of rights, is felt after that at the latest.
constexpr Nanos kGrantTime = 100_ms;
// How many grants a session may have used and not told.
constexpr std::uint64_t kMostGrants = 64;

}  // namespace

bool LocalReadGrants::offer(Transfer& transfer) {
  LocalRead& local = transfer.local;
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
  Bytes& granted = transfer.session->granted;
  granted = std::min(granted + bytes, most_ahead_ * kMostGrants);
  return {transfer.local.object_length, bytes, kGrantTime};
}

LocalReadGrants::Told LocalReadGrants::told(ClientSession& session, const wire::Took& claim) {
  Told told;
  told.bytes = std::min(Bytes(claim.bytes()), session.granted);
  told.reads = std::min(claim.reads(), told.bytes.count());
  if (told.reads == 0) return {};
  session.granted -= told.bytes;
  return told;
}

}  // namespace tutti
