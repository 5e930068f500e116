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
  // Code::busy if user and application have their share of the queue already.
  [[nodiscard]] Status check_turn(const wire::TransferRequest& request) const;
  [[nodiscard]] Status check_room(std::uint64_t application);
  Status local_use(const Frame& frame);
  Status view(const Frame& frame);

  Status object_request(const Frame& frame);
  Task<void> do_object_request(wire::Type type, std::uint64_t id, ObjectId object);
  Status remove_objects(const Frame& frame);
  Task<void> do_remove_objects(std::uint64_t id, std::vector<std::uint64_t> files);
  Status next_data(const Frame& frame);
  Task<void> do_next_data(std::uint64_t id, ObjectId object, Bytes offset);
  void reply_length(wire::Type type, std::uint64_t id, const Result<std::optional<Bytes>>& length);
  Status truncate(const Frame& frame);
  // Answered at once: it is queued, or left out because the session has enough of them.
  Status prefetch(const Frame& frame);
  // Sync and truncate wait for their turn as transfers do.
  void enqueue(std::unique_ptr<Transfer> work, const Frame& frame, ObjectId object, const wire::Tag* tag);

  // Locks on the object were lost: nothing is done under them from the reply on.
  Status fence(const Frame& frame);
  Task<void> do_fence(std::uint64_t id, ObjectId object);
  // Code::stale if the lock under which something is asked for was lost.
  [[nodiscard]] Status check_lock(ObjectId object, const wire::Lock* lock) const;

  Status list_objects(const Frame& frame);
  Task<void> do_list_objects(std::uint64_t id, std::uint64_t after);
  Status scrub(const Frame& frame);
  Task<void> do_scrub(std::uint64_t id, ObjectId object, Extent range);

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
