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
#include "server/data/local_grants.h"
#include "server/data/parking.h"
#include "server/data/replay.h"
#include "server/data/session_views.h"
#include "server/data/usage.h"

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
  std::uint64_t id = 0;      // of the client
  std::string program, job;  // what the client says of itself
  std::size_t queued = 0;    // transfers, the parked ones too
  std::size_t tasks = 0;
  Event drained;  // set while no task uses the connection
  Pace pace;
  std::shared_ptr<Usage> user;
  std::shared_ptr<Usage> application;  // of the last request
  std::uint64_t application_id = 0;
  std::shared_ptr<ReplayRecord> replay;  // null before the session has begun
  std::unique_ptr<SessionViews> views;   // null: it may declare none
  Bytes prefetching;                     // queued to be fetched ahead, or being fetched
  LocalGrants granted;
  bool has_marks = false;  // was given the store's words of change
};

}  // namespace tutti
