// LmdbKv: Kv in an LMDB environment.
//
// A thread of its own owns the write transactions: updates that wait at the same time share one synced commit. The
// failure of one leaves the others: most fail before they have written anything; after one that has, the batch is run
// again with each update in a nested transaction, which costs more. Views run in the
// calling thread. Apart from that thread everything belongs to the thread of the loop. A directory must not
// be opened twice at the same time in one process.
//
// On tmpfs a commit waits for nothing, and waking a thread and being woken takes longer than the commit: there is no such
// thread then. The loop commits what waits at the end of its turn, without syncs, which would save nothing there. The same
// holds for a store that need not be synced.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "env/kv.h"
#include "env/real/loop/loop.h"

namespace tutti {

struct LmdbOptions {
  Bytes map_size = 64_GiB;  // the most the data may take; address space, not disk space
  bool create = true;       // makes the directory (not its parents) and the store if they are missing
  // Whether updates are synced. A store whose updates are not survives the death of a process, and after a loss of power
  // it may be unusable: its owner makes a new one then.
  bool synced = true;
};

class LmdbKv final : public Kv {
 public:
  // Code::not_found if it is missing and not to be made.
  static Result<std::unique_ptr<LmdbKv>> open(Loop& loop, const std::string& directory,
                                              LmdbOptions options = {});
  // Waits for the updates that were handed over.
  ~LmdbKv() override;

  Status view(const std::function<Status(const KvReader&)>& body) override;
  Task<Status> update(std::function<Status(KvWriter&)> body) override;

  // Synced commits so far: fewer than updates where they were grouped.
  [[nodiscard]] std::uint64_t commits() const;

 private:
  class Impl;
  explicit LmdbKv(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti
