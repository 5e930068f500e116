#include "server/data/local_writes.h"

#include <algorithm>

namespace tutti {

LocalWriteGrants::Grant LocalWriteGrants::grant(const Transfer& transfer) const {
  const LocalAccess& local = transfer.local;
  const Bytes bytes = std::min(local.ahead, most_ahead_);
  ClientSession& session = *transfer.session;
  if (!writable_ || local.known == 0 || bytes == 0_B || transfer.lock.number() != 0 ||
      !session.connection->peer_is_own()) {
    return {};
  }
  Grant grant{store_.share_for_writing(transfer.object), bytes, LocalGrants::kTime};
  const WritableObject& object = grant.object;
  if (object.file == nullptr) return {};
  if (!session.has_marks) session.has_marks = session.connection->give(object.marks_key, *object.marks);
  if (!session.has_marks) return {};
  if (object.key != local.known && !session.connection->give(object.key, *object.file)) return {};
  session.granted.add(bytes);
  return grant;
}

}  // namespace tutti
