// Purger: what becomes of removed files. Their objects are removed from the data servers, in the background and in bulk.
//
// A file without names stands in the Kv until all its data servers have confirmed that its object is gone: nothing is
// lost by a restart, and a server that is away holds up nobody but itself; it is tried again after a pause that doubles
// from 100 ms to 10 s. A file that is still open when it loses its last name is held until its last close. After a
// restart all are held for the grace, so that clients can claim what they have open. A file whose handle was lost and not
// closed is purged a second time when no capability for it can be valid any more. A purger without work sleeps.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "env/channel.h"
#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/capability.h"
#include "server/meta/records.h"

namespace tutti::meta {

struct PurgerOptions {
  std::uint64_t cluster = 0;
  std::vector<std::string> data_servers;  // addresses, in the order of the servers' numbers
  Nanos capability_lifetime;              // how long one that was given out may be shown
  Nanos grace;                            // after a restart
};

class Purger {
 public:
  // `kv`, `clock` and what `env` refers to must outlive it. `is_open` tells whether somebody has the file open.
  Purger(Env env, Kv& kv, ServerKey key, const ClusterClock& clock, PurgerOptions options,
         std::function<bool(std::uint64_t)> is_open);
  Purger(const Purger&) = delete;
  Purger& operator=(const Purger&) = delete;

  // Takes up what is left from before.
  Status start();
  // A change that took the last name of the file is committed.
  void removed(std::uint64_t file, const Layout& layout);
  // Nobody has the file open any more. `returned`: everybody who had it said so.
  void closed(std::uint64_t file, bool returned);
  // A file that is held has got a name.
  void named(std::uint64_t file) { held_.erase(file); }
  // A change was given up by its client, and may have been committed all the same.
  void look_again();
  // After a restart, while clients claim what they have open.
  [[nodiscard]] bool in_grace() const { return grace_; }
  // The file is removed and held, because it is open or may be.
  [[nodiscard]] bool holds(std::uint64_t file) const { return held_.contains(file); }

 private:
  struct Held {
    Layout layout;
    bool again = false;  // a handle was lost
  };
  struct Purging {
    std::uint32_t servers = 0;  // that have not confirmed
    Layout layout;
    bool again = false;
  };
  struct Server {
    explicit Server(Executor& executor) : work(executor) {}
    std::deque<std::uint64_t> files;
    Event work;
  };

  Task<void> run(std::uint32_t server);
  Task<Status> remove_some(std::uint32_t server, std::unique_ptr<Channel>& channel);
  Task<Result<std::vector<std::uint64_t>>> remove_objects(Channel& channel, std::vector<std::uint64_t> files);
  Task<void> end_grace();
  Task<void> take_up();
  // Purges a held file if it has no name; a change that names it may be under way.
  Task<void> let_go(std::uint64_t file);
  Task<void> erase_finished();
  Task<void> purge_again();
  void purge(std::uint64_t file, const Layout& layout, bool again);
  void confirmed(std::uint64_t file);
  // Removed files of the Kv that are not known here.
  [[nodiscard]] Result<std::vector<Inode>> unknown();

  Env env_;
  Kv& kv_;
  ServerKey key_;
  const ClusterClock& clock_;
  PurgerOptions options_;
  std::function<bool(std::uint64_t)> is_open_;
  std::uint64_t client_;  // as which it opens sessions
  std::vector<std::unique_ptr<Server>> servers_;
  std::map<std::uint64_t, Held> held_;
  bool grace_ = false;  // those who have a held file open may not have said so yet
  std::unordered_map<std::uint64_t, Purging> purging_;
  std::vector<std::uint64_t> finished_;  // their records go
  Event some_finished_;
  std::deque<std::pair<Nanos, std::pair<std::uint64_t, Layout>>> later_;  // by time: to be purged again
  std::set<std::uint64_t> waiting_later_;
  Event some_later_;
  Scope scope_;
};

}  // namespace tutti::meta
