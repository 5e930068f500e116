// Purger: removes the objects of removed files from the data servers, in the background.
//
// What is to be removed stands in the Kv, listed for each data server, and goes from there when the server
// has confirmed it: nothing is lost by a restart, and a server that is away holds up nobody but itself. It is
// tried again after a pause that doubles from 100 ms to 10 s. A purger without work sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "env/channel.h"
#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/capability.h"

namespace tutti::meta {

class Purger {
 public:
  // `kv`, `clock` and what `env` refers to must outlive it. Addresses are in the order of the servers' numbers.
  Purger(Env env, Kv& kv, ServerKey key, const ClusterClock& clock, std::uint64_t cluster,
         std::vector<std::string> data_servers);
  Purger(const Purger&) = delete;
  Purger& operator=(const Purger&) = delete;

  // Begins with what is left from before.
  void start();
  // There is something new to remove on this server.
  void wake(std::uint32_t server);

 private:
  Task<void> run(std::uint32_t server);
  Task<Status> remove_some(std::uint32_t server, std::unique_ptr<Channel>& channel,
                           std::vector<std::uint64_t> files);
  Task<Result<std::unique_ptr<Channel>>> connect(std::uint32_t server);
  Task<Status> remove_object(Channel& channel, std::uint64_t file);
  [[nodiscard]] Result<std::vector<std::uint64_t>> pending(std::uint32_t server);

  Env env_;
  Kv& kv_;
  ServerKey key_;
  const ClusterClock& clock_;
  std::uint64_t cluster_;
  std::uint64_t client_;  // as which it opens sessions
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Event>> work_;  // one for each server
  Scope scope_;
};

}  // namespace tutti::meta
