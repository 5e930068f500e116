// StripedFile: what the steps of a transfer know of the open file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/capability_holder.h"
#include "client/file_system.h"
#include "client/lock_keeper.h"
#include "client/transfer/every_server.h"
#include "client/transfer/gate.h"
#include "client/transfer/local_read.h"
#include "client/transfer/local_write.h"
#include "client/transfer/unsynced.h"
#include "client/transfer/visiting.h"

namespace tutti {

// The references must outlive it.
struct StripedFile {
  const Env& env;
  const ClientOptions& options;
  Visiting visit;
  LockKeeper& locks;
  FileServers servers;
  std::string path;
  CapabilityHolder capability;
  UnsyncedWrites unsynced;
  std::vector<LocalReads> local_reads;    // by slot
  std::vector<LocalWrites> local_writes;  // likewise
  bool written = false;                   // since open: the metadata server is to be told
  bool exact = true;                      // all that this handle did to the length is in `written_end`
  std::uint64_t unfinished_writes = 0;    // under way, or ended otherwise than well
  Bytes written_end{};                    // the furthest byte of a write, and one more
  std::uint32_t rank = 0;                 // of this client among those that have the file open,
  std::uint32_t ranks = 0;                // 0: it has none
  std::optional<Bytes> known_end{};       // of the file, when a read last met it, or read on: see file_end.h

  // A read got all of these.
  void read_to(Bytes end) {
    if (known_end) known_end = std::max(*known_end, end);
  }

  [[nodiscard]] const Layout& layout() const { return servers.layout; }
};

}  // namespace tutti
