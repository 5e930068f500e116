// Locks: the byte range locks of the metadata server's clients.
//
// A lock belongs to a session and goes with it, or when the same client opens its next session. A holder that has
// said nothing for the lease loses its locks to whoever waits for them. Nothing is stored but whether there may be
// locks, and which ones others have got since: after a restart holders have the grace to ask for theirs again before anybody
// else is granted one. Whoever was away for the whole of a grace has lost his, also after the next restart: a start is an
// epoch, and the oldest one whose locks nobody else can have got is stored too.
//
// Locks that were not given back are remembered for a while: whoever is granted the same bytes has the data servers refuse
// what is still asked for under them (server/fence.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/meta/lock_table.h"
#include "wire/messages.h"

namespace tutti::meta {

struct LockAsk {
  std::uint64_t inode = 0;
  std::uint64_t number = 0;
  LockRange range;
  bool reclaim = false;
  std::uint64_t epoch = 0;  // of a reclaim: in which it was last known to be held
  Nanos patience;
};

class Locks {
 public:
  // `kv` and what `env` refers to must outlive it.
  Locks(Env env, Kv& kv, Nanos lease, Nanos grace);
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // Before the first session.
  Status open();

  // A session begins; what earlier ones of the same client hold is dropped. Returns its number.
  std::uint64_t join(std::uint32_t uid, std::uint64_t client);
  void leave(std::uint64_t session);
  // The session shows life.
  void heard(std::uint64_t session);

  // Ends when the lock is granted; a reclaim of what the session holds is. Code::timed_out when the patience is over, Code::stale for a reclaim that comes too
  // late or against another's lock, Code::busy above the number of locks that one session may have or wait for.
  Task<Status> acquire(std::uint64_t session, LockAsk ask);
  // Code::not_found if the session does not hold or wait for it.
  Status release(std::uint64_t session, std::uint64_t number);

  [[nodiscard]] Nanos lease() const { return lease_; }
  // Of this start; ascending from start to start.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // What was lost of these bytes: those locks, and all of epochs before the one named.
  struct Lost {
    std::vector<wire::LostLock> locks;
    std::uint64_t epoch = 0;
  };
  [[nodiscard]] Lost lost(std::uint64_t inode, const LockRange& range) const;

 private:
  struct Session {
    std::uint32_t uid = 0;
    std::uint64_t client = 0;
    Nanos heard;
  };
  class Waiting;  // an entry that is given up when its task is destroyed

  Task<Status> mark();
  Task<void> end_grace();
  Task<Status> wait(LockName name, Nanos deadline);
  void wake(const std::vector<LockName>& granted);
  void drop_silent(LockName waiting);
  void take(const LockAsk& ask);
  [[nodiscard]] bool was_taken(const LockName& name) const;
  // Drops the locks of a session that did not give them back; it may go on to wait for others.
  void lose(std::uint64_t session);

  Env env_;
  Kv& kv_;
  Nanos lease_;
  Nanos grace_;
  Nanos grace_end_;
  bool marked_ = false;         // the Kv says that there may be locks,
  std::uint64_t taken_ = 1;     // how many lost locks others have got; the start counts too
  std::uint64_t recorded_ = 0;  // of them, those that the Kv knows, with this epoch
  std::uint64_t epoch_ = 0;
  std::uint64_t oldest_ = 0;           // epoch of locks that may be had again during the grace
  std::uint64_t recorded_oldest_ = 0;  // what the Kv will say of that after a restart
  Nanos forgotten_;                    // when locks of earlier epochs need not be spoken of any more
  struct LostLock {
    std::uint64_t inode = 0;  // 0: before a restart
    LockRange range;
    std::uint64_t client = 0;
    std::uint64_t number = 0;
    Nanos when;
    bool taken = false;  // others were granted these bytes since
  };
  std::deque<LostLock> lost_;  // the oldest first
  std::uint64_t next_session_ = 0;
  std::map<std::uint64_t, Session> sessions_;
  LockTable table_;
  std::map<LockName, std::shared_ptr<Event>> waiting_;
  Scope scope_;
};

}  // namespace tutti::meta
