// What is asked of all servers of a file at once: how long their objects are, to sync them, to truncate them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "client/capability_holder.h"
#include "client/lock_keeper.h"
#include "client/request_tags.h"
#include "client/server_session.h"
#include "client/transfer/unsynced.h"
#include "layout/layout.h"

namespace tutti {

// The servers of one file. The references must outlive it.
struct FileServers {
  const Layout& layout;
  std::span<const std::unique_ptr<ServerSession>> data;  // of the cluster, at least layout.server_total
  RequestTags& tags;

  [[nodiscard]] ServerSession& of(std::uint32_t slot) const { return *data[layout.server_of_slot(slot)]; }
};

struct Question {
  enum class Kind : std::uint8_t { length, sync, truncate };
  Kind kind = Kind::length;
  Bytes length = 0_B;                  // truncate: what the file shall have
  UnsyncedWrites* unsynced = nullptr;  // sync, truncate: notes the answers, must be there
  wire::Lock lock = {};                // truncate: under which it is made,
  LockKeeper* locks = nullptr;         // of these, must be there
};

// Asks the server of one slot. Length: what the file has at least, by this server's object; otherwise nothing. An error
// that the server gives names it.
Task<Result<Bytes>> ask_server(FileServers servers, CapabilityHolder& capability, Question question,
                               std::uint32_t slot);
// Asks all servers of the file at once. The largest answer, which for length is that of the file, or the first error by
// slot. The capability must give kRightLength for it.
Task<Result<Bytes>> ask_every_server(FileServers servers, CapabilityHolder& capability, Question question);

// The first byte of the file at or after `from` that may not be in a hole; Bytes::max() if there is none. The capability
// must give kRightRead.
Task<Result<Bytes>> find_data(FileServers servers, CapabilityHolder& capability, Bytes from);
// Has the server of a slot fetch extents of its object ahead of reads; ends when that is queued there.
Task<Status> ask_prefetch(FileServers servers, CapabilityHolder& capability, std::uint32_t slot,
                          std::span<const Extent> object, Bytes bottleneck);
// Has all servers of the file refuse what is asked for under locks that were lost.
Task<Status> fence_locks(FileServers servers, CapabilityHolder& capability, LockKeeper::Granted granted);
// One attempt to make a session with every server of the file that has none, all at once. What fails is left to the
// requests that need the session.
Task<void> connect_every_server(FileServers servers, Nanos patience);

}  // namespace tutti
