// Backup and restore of the metadata: one consistent state in a file, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "client/cluster_config.h"
#include "daemon/state_directory.h"

namespace tutti {

struct BackupReport {
  std::uint64_t files = 0;
  Bytes bytes;  // of the file
};

// Copies the metadata of the state directory, also while they are served. The file is there in full or not at all.
Result<BackupReport> back_up_metadata(const StateDirectory& state, const ClusterConfig& config,
                                      const std::string& file);

struct RestoreReport {
  std::uint64_t files = 0;
  std::uint64_t epoch = 0;  // of the inode numbers given out from now on
  std::string kept;         // where the metadata of before are now; empty: there were none
};

// Puts a backup in place of the metadata, which nobody may serve. New files get inode numbers of a new epoch: the one
// after the backup's and after that of the metadata of before, or `epoch` if that is higher. Code::busy if the metadata
// server runs, Code::invalid if the backup is of another cluster or the epoch not a new one.
Result<RestoreReport> restore_metadata(const StateDirectory& state, const ClusterConfig& config,
                                       const std::string& file, std::optional<std::uint64_t> epoch);

}  // namespace tutti
