// HandleKeeper: tells the metadata server which files this client has open, so that one that loses its names lives on
// until it is closed.
//
// The server learns of a handle when the file is opened and of its end by a message without a reply. It keeps the handles
// of a client that comes back soon after a lost connection; in case it was the server that restarted, what is open is
// claimed again on every new connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "client/capability_holder.h"
#include "client/server_session.h"
#include "env/scope.h"
#include "env/sync.h"

namespace tutti {

class HandleKeeper {
 public:
  // Both must outlive it.
  HandleKeeper(const Env& env, ServerSession& meta);
  HandleKeeper(const HandleKeeper&) = delete;
  HandleKeeper& operator=(const HandleKeeper&) = delete;
  ~HandleKeeper() = default;

  // The number for an open that is about to be asked for.
  std::uint64_t next() { return ++last_; }
  // The file is open. `capability` must stay until close() or forget().
  void opened(std::uint64_t handle, const CapabilityHolder& capability);
  // It is closed: what was written through it lies before `end`, if `exact`. Waits for nothing.
  void close(std::uint64_t handle, bool exact, std::uint64_t end);
  // The same, where another message tells the server.
  void forget(std::uint64_t handle) { held_.erase(handle); }

 private:
  Task<void> keep();
  Task<void> claim(std::uint64_t handle);

  const Env& env_;
  ServerSession& meta_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, const CapabilityHolder*> held_;
  std::shared_ptr<Channel> told_;  // on which the server knows what is held
  bool keeping_ = false;
  Event some_;  // set while something is held
  Scope scope_;
};

}  // namespace tutti
