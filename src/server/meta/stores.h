// Stores: which object stores belong to the metadata, and whether they and the metadata belong together.
//
// Every data server shows its store when it starts, and again when the metadata server has started. The first store of a
// number is recorded; from then on no other may serve under that number, unless it was made to take its place. A store
// whose objects are newer than the metadata shows that these are an old copy: the metadata server gives up then, before
// it gives an inode number out a second time. For that, changes wait until all data servers have shown their stores,
// but no longer than kPatience: a data server that is away has nothing to protect meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "base/status.h"
#include "base/uuid.h"
#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/meta/records.h"
#include "server/store_messages.h"

namespace tutti::meta {

// What is to be done about a store. Code::invalid: it must not serve. Code::stale: the metadata must not be served with
// it. The messages say what to do.
Status judge(const Superblock& superblock, const std::optional<Uuid>& recorded, const EnrolMessage& shown);

class Stores {
 public:
  static constexpr Nanos kPatience = 2_s;

  // `kv` and what `env` refers to must outlive it. 0 servers: nobody enrols, nothing is waited for.
  Stores(Env env, Kv& kv, std::uint32_t servers);
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;

  // Counts the patience from now.
  void start();
  // The metadata store's own UUID, if the data server's store belongs to it: it is recorded then. Else as judge().
  Task<Result<Uuid>> enrol(EnrolMessage shown);
  // Ends when all have enrolled or the patience is over.
  Task<void> settled();
  // Ends when the metadata turn out to be the wrong ones.
  Task<Status> refused();

 private:
  Task<void> end_patience();

  Env env_;
  Kv& kv_;
  std::uint32_t servers_;
  std::set<std::uint32_t> enrolled_;  // since the start
  Event settled_;
  Event refused_;
  Status refusal_;
  Scope scope_;
};

}  // namespace tutti::meta
