// ClientSession: what the transfers of one connected client share. It outlives the session's own task while transfers are
// in service, so that a session that ends never leaves one with a dangling connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/units.h"
#include "env/network.h"
#include "env/sync.h"

namespace tutti {

struct ClientSession {
  ClientSession(Executor& executor, std::unique_ptr<Connection> connection)
      : connection(std::move(connection)), drained(executor) {
    drained.set();
  }
  // A task uses the connection for one of its transfers.
  void task_began() {
    if (tasks++ == 0) drained.reset();
  }
  void task_ended() {
    if (--tasks == 0) drained.set();
  }

  std::unique_ptr<Connection> connection;
  std::string program, job;  // what the client says of itself
  std::size_t queued = 0;    // transfers
  std::size_t tasks = 0;
  Event drained;  // set while no task uses the connection
  Bytes granted;  // a bound of what its client may have read without asking, and has not told yet
};

}  // namespace tutti
