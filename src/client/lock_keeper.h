// LockKeeper: the locks that a client holds at the metadata server.
//
// A lock lives with the session in which it was granted. While locks are held, a task watches their connection: it
// shows life within the lease, and when the connection is lost it asks for the locks again at once, which succeeds
// if the server restarted and fails if it went on and gave them to others. One that cannot be had again is lost, and
// its release says so.
//
// A data server that restarts has forgotten which locks were lost (server/data/lock_fences.h). So nothing is asked under a
// lock on a connection that was made after the lock was last known to be held: it is confirmed first. What is lost after
// that is told to the server at the other end of this connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/capability_holder.h"
#include "client/server_session.h"
#include "env/scope.h"
#include "layout/layout.h"

namespace tutti {

class LockKeeper {
 public:
  // Both must outlive it.
  LockKeeper(const Env& env, ServerSession& meta);
  LockKeeper(const LockKeeper&) = delete;
  LockKeeper& operator=(const LockKeeper&) = delete;
  ~LockKeeper() = default;

  // A lock, and what the data servers are to be told before it is used: which locks these bytes were taken from.
  struct Granted {
    std::uint64_t number = 0;
    std::vector<wire::LostLock> lost;
    std::uint64_t lost_epoch = 0;
    std::optional<wire::Capability> proof;  // if there is something to tell
  };
  // `capability` must outlive the task.
  Task<Result<Granted>> acquire(CapabilityHolder& capability, Extent range, bool exclusive, Nanos patience);
  // The lock that covers any of these bytes of the file, for the data servers; one without a number if there is none.
  // Code::stale if it was lost.
  [[nodiscard]] Result<wire::Lock> covering(std::uint64_t file, std::span<const Extent> extents) const;
  // Whether the lock was held at or after the time, as far as is known; true for one that was given back.
  [[nodiscard]] bool held_since(std::uint64_t number, Nanos time) const;
  // Asks whether it is still held. Code::stale if it was lost.
  Task<Status> confirm(std::uint64_t number);
  // A data server says that it was.
  void lose(std::uint64_t number);
  // Code::stale if it was lost, Code::invalid if there is no such lock.
  Task<Status> release(std::uint64_t number);
  // Whether a lock is held or asked for.
  [[nodiscard]] bool busy() const { return asking_ > 0 || !held_.empty(); }

 private:
  struct Lock {
    wire::Capability capability;  // with which it was granted
    Extent range;
    bool exclusive = false;
    bool lost = false;
    std::uint64_t epoch = 0;           // in which it was granted
    std::shared_ptr<Channel> channel;  // on which it was granted
    Nanos asked;                       // for it or its confirmation: since then it was held
  };
  class LockRequest;

  Task<void> keep();
  Task<void> reclaim(std::uint64_t number);
  Task<void> forget(std::shared_ptr<Channel> channel, std::uint64_t number);
  void start_keeping();

  const Env& env_;
  ServerSession& meta_;
  std::uint64_t next_ = 0;
  std::size_t asking_ = 0;  // requests for a lock under way
  std::map<std::uint64_t, Lock> held_;
  Nanos lease_ = 30_s;
  bool keeping_ = false;
  Scope scope_;
};

}  // namespace tutti
