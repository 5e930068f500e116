// The checksums of a data server's objects, as the cluster file wishes.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "daemon/daemon.h"
#include "env/checksum/checksum_store.h"
#include "env/real/store/file_store.h"

namespace tutti {

// Where the store of sums is, in the directory of a data server's store.
std::string sums_directory(const std::string& store);

// The objects of `data` with checksums, beside it in `directory`. Null if there are to be none: "auto" has them on disks,
// but not in memory, where the machine's ECC does the same at no cost and readers on this host take bytes without the
// server. What was summed before is then thrown away, because it would be stale when checksums are wanted again.
class Checksums {
 public:
  static Result<std::unique_ptr<Checksums>> open(Daemon& daemon, FileStore& data,
                                                 const std::string& directory);
  Checksums(Clock& clock, FileStore& data, std::unique_ptr<FileStore> sums, Log log);

  [[nodiscard]] Store& store() { return store_; }
  // Before the daemon ends: what is not stored in a few seconds is summed anew some day.
  void settle(Loop& loop);

 private:
  std::unique_ptr<FileStore> sums_;
  ChecksumStore store_;
  Clock& clock_;
  Log log_;
};

}  // namespace tutti
