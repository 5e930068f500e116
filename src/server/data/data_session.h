// DataSession: one client's connection to a data server.
//
// Its messages are handled in order of arrival: transfers go to the dispatcher, the rest is done at once, each in a task
// of its own. Whoever sends something unsound loses the connection.
//
//   data_session.cc     the session itself, and transfers
//   object_requests.cc  sync, length, truncate, remove
//   check_requests.cc   what is in the store
//   status_requests.cc  what the server tells of itself
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "env/network.h"
#include "env/scope.h"
#include "env/sync.h"
#include "policy/application_ids.h"
#include "server/data/client_session.h"
#include "server/data/data_server.h"
#include "wire/messages.h"

namespace tutti {

class DataSession {
 public:
  // `server` must outlive it.
  DataSession(DataServer& server, std::unique_ptr<Connection> connection);
  DataSession(const DataSession&) = delete;
  DataSession& operator=(const DataSession&) = delete;
  ~DataSession();

  // Serves until the connection is lost or does not deserve better; nothing of the session is in service then.
  Task<void> run();

 private:
  Connection& connection() { return *client_->connection; }
  Task<Status> serve();
  // Agrees on the session. A predecessor with the same client id is ended first, so that nothing of it can reach into
  // the client's memory any more.
  Task<Status> begin();
  Task<Status> replace_predecessor(std::uint64_t id);
  // Only a message that no honest client sends is an error here; it ends the session.
  Status handle(const Frame& frame);
  // A client shows the same capability again and again: its hash is made once.
  [[nodiscard]] Status check(const wire::Capability& capability, std::uint32_t rights);
  // `era` is that of the object (era.h), where the reply is to a change of one.
  void reply(wire::Type type, std::uint64_t id, const Status& status, std::uint64_t era = 0);

  Status transfer(const Frame& frame, bool write);
  [[nodiscard]] Status check_room() const;
  Status local_reads(const Frame& frame);

  Status object_request(const Frame& frame);
  Task<void> do_object_request(wire::Type type, std::uint64_t id, ObjectId object);
  void reply_length(std::uint64_t id, const Result<std::optional<Bytes>>& length);
  Status truncate(const Frame& frame);
  Task<void> do_truncate(std::uint64_t id, ObjectId object, Bytes length, bool cut, bool grow);

  Status list_objects(const Frame& frame);
  Task<void> do_list_objects(std::uint64_t id, std::uint64_t after);

  Status server_status(const Frame& frame);
  Status applications(const Frame& frame);

  DataServer& server_;
  std::shared_ptr<ClientSession> client_;
  std::shared_ptr<Event> gone_;  // set when this is destroyed
  std::uint64_t client_id_ = 0;
  wire::Capability genuine_;  // the last one that was; at first one that gives no rights
  ApplicationRange allowed_;
  std::vector<ObjectId> listed_;  // while the objects are asked for page by page
  Scope scope_;
};

}  // namespace tutti
