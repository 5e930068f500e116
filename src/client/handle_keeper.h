// HandleKeeper: tells the metadata server which files this client has open, so that one that loses its names lives on
// until it is closed.
//
// The server learns of a handle when the file is opened and of its end by a message without a reply. It keeps the handles
// of a client that comes back soon after a lost connection; in case it was the server that restarted, what is open is
// claimed again on every new connection, before anything else is asked there: a renewal that came first would hear that
// a file without a name is gone. Ends that may have been lost with a connection are told again too.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

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
  ~HandleKeeper();

  // The number for an open that is about to be asked for.
  std::uint64_t next() { return ++last_; }
  // The file is open. `capability` must stay until close() or forget().
  void opened(std::uint64_t handle, const CapabilityHolder& capability);
  // It is closed: what was written through it lies before `end`, if `exact`. Waits for nothing.
  void close(std::uint64_t handle, bool exact, std::uint64_t end);
  // The same, where another message tells the server.
  void forget(std::uint64_t handle) { held_.erase(handle); }

 private:
  static constexpr std::size_t kMostClosed = 1024;
  static constexpr std::size_t kAtOnce = 16'384;  // claims: a few MiB on a connection
  struct Closed {
    std::uint64_t handle = 0;
    bool exact = false;
    std::uint64_t end = 0;
  };

  Task<void> keep();
  // A new connection, on which nothing was asked yet.
  void connected(const std::shared_ptr<Channel>& channel);
  Task<void> claim(std::uint64_t handle, std::shared_ptr<Channel> channel);
  Task<void> claim_rest(std::vector<std::uint64_t> handles, std::shared_ptr<Channel> channel);
  static void send(Channel& channel, const Closed& closed);

  const Env& env_;
  ServerSession& meta_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, const CapabilityHolder*> held_;
  std::deque<Closed> closed_;      // the last ones
  std::shared_ptr<Channel> told_;  // on which the server knows what is held
  bool keeping_ = false;
  Event some_;  // set while something is held
  Scope scope_;
};

}  // namespace tutti
