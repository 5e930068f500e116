// All metadata of a cluster, read beside the metadata server, for the commands that check.
#pragma once

#include "daemon/state_directory.h"
#include "env/real/kv/lmdb_snapshot.h"
#include "server/check/snapshot.h"

namespace tutti::cli {

// Only on the metadata server's host.
inline Result<check::Snapshot> read_metadata(const StateDirectory& state) {
  const auto kv = LmdbSnapshot::open(state.store_path("meta"));
  if (!kv.ok()) return kv.status();
  Result<check::Snapshot> snapshot = Status(Code::internal, "nothing was read");
  TUTTI_TRY((*kv)->view([&](const KvReader& reader) {
    snapshot = check::take_snapshot(reader);
    return snapshot.status();
  }));
  return snapshot;
}

}  // namespace tutti::cli
