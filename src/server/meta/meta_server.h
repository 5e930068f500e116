// MetaServer: names, directories, attributes, layouts and file ids; gives out capabilities.
//
// It holds no state but its Kv, and what clients can claim again after a restart: their locks (locks.h) and open files
// (handles.h). Every change is one transaction, durable when answered, and changes that wait together share one sync. The
// length of a file is not here: data servers know it; some are remembered (lengths.h). The objects of removed files are
// removed on the data servers in the background (purge.h); what is left to remove survives a restart.
//
// It is the cluster's coordinator too (server/coordinator/coordinator.h), unless that runs elsewhere: then the metadata
// server follows its time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "layout/layout.h"
#include "server/capability.h"
#include "server/coordinator/coordinator.h"

namespace tutti {

struct MetaServerOptions {
  std::uint64_t cluster = 0;
  std::vector<std::string> data_servers;  // addresses, in the order of their numbers
  Bytes stripe_size = 64_KiB;             // default of new files
  std::uint32_t stripe_count = 0;         // 0: all servers
  std::string policy = "fcfs";            // order of requests, as the cluster file says
  std::string coordinator;                // address of one that runs elsewhere; empty: it is here
  gate::LockOptions gate = {};            // of the coordinator, as the rest of these two:
  Kv* gate_state = nullptr;               // see CoordinatorOptions
  Nanos capability_lifetime = 3600_s;
  Nanos repeat_memory = 3600_s;  // how long the answer to a change is kept for a client that repeats it
  Nanos open_grace =
      60_s;  // how long the open files of a client without a session, or of a restart, are kept
  Nanos lock_lease = 30_s;     // a silent holder may lose its locks after this
  Nanos lock_grace = 5_s;      // after a restart: for holders to ask again, before new locks are granted
  std::uint32_t root_uid = 0;  // the cluster's owner: may change the policy, owns "/" when the tree is made
  bool create = true;          // makes the tree if there is none
  bool enrol = false;          // data servers show their stores (stores.h)
  std::uint32_t root_gid = 0;
  std::uint32_t root_mode = 01777;
};

class MetaServer {
 public:
  MetaServer(Env env, Kv& kv, ServerKey key, MetaServerOptions options);
  MetaServer(const MetaServer&) = delete;
  MetaServer& operator=(const MetaServer&) = delete;
  ~MetaServer();

  // Checks the format, makes the tree if that is asked for, takes up unfinished removals. Code::not_found if there is no
  // tree, Code::version if another version of Tutti wrote the metadata, Code::invalid if they belong to another cluster or the options make no
  // sense.
  Task<Status> open();
  // After open(): accepts and serves until it is cancelled or the listener breaks.
  Task<Status> serve(std::unique_ptr<Listener> listener);

  // Ends, with the reason, when a data server's store shows that these are not the right metadata.
  Task<Status> refused();
  // Ends when changes are served: all data servers have shown their stores, or the patience for them is over.
  Task<Status> settled();

  // Null if it runs elsewhere.
  [[nodiscard]] Coordinator* coordinator();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti
