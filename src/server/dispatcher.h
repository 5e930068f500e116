// Dispatcher: the request queue of a data server. The policy decides, the dispatcher does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "env/env.h"
#include "env/scope.h"
#include "env/store.h"
#include "env/sync.h"
#include "layout/layout.h"
#include "policy/request/policy.h"
#include "wire/messages.h"

namespace tutti {

// What transfers share of their session. It outlives the session while transfers are in service, so that a
// session that ends never leaves one with a dangling connection.
struct SessionLink {
  SessionLink(Executor& executor, std::unique_ptr<Connection> connection)
      : connection(std::move(connection)), drained(executor) {
    drained.set();
  }
  std::unique_ptr<Connection> connection;
  std::size_t queued = 0;
  std::size_t in_service = 0;
  Event drained;  // set while nothing is in service
};

// One read or write from its arrival to its reply.
struct Transfer {
  std::uint64_t frame = 0;  // the client's id of the request, repeated in the reply
  bool write = false;
  ObjectId object;
  std::vector<Extent> extents;
  Region region;
  Bytes length;
  bool inside_reply = false;  // a small read whose bytes travel in the reply
  std::shared_ptr<SessionLink> session;

  std::uint64_t id = 0;  // ours: the policy knows it by this
  bool serving = false;
  Bytes done;  // quanta served so far
  Bytes valid_end = Bytes::max();
  std::vector<std::byte> inside;
};

class Dispatcher {
 public:
  // `boot` stands in every reply; see DataServerOptions.
  Dispatcher(const Env& env, Store& store, std::unique_ptr<RequestPolicy> policy, std::uint64_t boot);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() = default;

  // `tag` is the client's word, `request_time` what the server made of it; it came at `arrival`. Both wall.
  void add(std::unique_ptr<Transfer> transfer, const wire::Tag& tag, Nanos request_time, Nanos arrival);
  // Forgets the queued transfers of a session. Those in service end by themselves; wait for session.drained.
  void drop(const SessionLink& session);

  struct Totals {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    Bytes bytes_read;
    Bytes bytes_written;
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t queued() const { return transfers_.size() - in_service_; }
  [[nodiscard]] std::size_t in_service() const { return in_service_; }
  [[nodiscard]] std::string policy_name() const { return policy_->name(); }

 private:
  struct AskAgain : Timer {
    explicit AskAgain(Dispatcher& dispatcher)
        : Timer([](Timer* self) { static_cast<AskAgain*>(self)->dispatcher.dispatch(); }),
          dispatcher(dispatcher) {}
    Dispatcher& dispatcher;
  };

  void dispatch();
  Task<void> serve(Transfer& transfer, Bytes quantum);
  Task<Status> move(Transfer& transfer, Extent extent);
  void finish(Transfer& transfer, const Status& status);

  const Env& env_;
  Store& store_;
  std::unique_ptr<RequestPolicy> policy_;
  std::uint64_t boot_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Transfer>> transfers_;  // queued or in service
  std::uint64_t next_id_ = 1;
  std::size_t in_service_ = 0;
  Totals totals_;
  flatbuffers::FlatBufferBuilder reply_;
  AskAgain ask_again_;
  Scope scope_;
};

}  // namespace tutti
