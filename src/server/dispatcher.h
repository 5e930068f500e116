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
#include "server/accounting.h"
#include "server/recent_rate.h"
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
  std::string program, job;  // what the client says of itself
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

  QueuedRequest request;         // what the policy knows of it; the id is ours
  std::uint64_t generation = 0;  // of the policy that has it
  bool serving = false;
  Accounting::Slot account = Accounting::kOthers;
  Bytes done;  // quanta served so far
  Bytes valid_end = Bytes::max();
  std::vector<std::byte> inside;  // made when it is dispatched

  // What it takes while it waits, its places in the policy and in the dispatcher's table counted in.
  [[nodiscard]] Bytes memory() const {
    constexpr std::size_t kPlaces = 192;
    return Bytes(sizeof(Transfer) + kPlaces + extents.capacity() * sizeof(Extent) +
                 region.segments.capacity() * sizeof(Segment));
  }
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
  // From now on this policy decides. What is queued goes over to it; what is in service goes on, and over to it with
  // what is left after its quantum.
  void change_policy(std::unique_ptr<RequestPolicy> policy);
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
  // Of all transfers here.
  [[nodiscard]] Bytes memory() const { return memory_; }
  [[nodiscard]] std::string policy_name() const { return policy_->name(); }
  // Brought up to date by asking.
  [[nodiscard]] std::vector<Accounting::Row> accounts() { return accounting_.rows(env_.clock.now()); }
  [[nodiscard]] double requests_per_second() { return rate_.per_second(env_.clock.now()); }

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
  void forget(std::uint64_t id);

  const Env& env_;
  Store& store_;
  std::unique_ptr<RequestPolicy> policy_;
  std::uint64_t generation_ = 0;  // how often the policy has changed
  std::uint64_t boot_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Transfer>> transfers_;  // queued or in service
  std::uint64_t next_id_ = 1;
  std::size_t in_service_ = 0;
  Bytes memory_;
  Totals totals_;
  Accounting accounting_;
  RecentRate rate_;
  flatbuffers::FlatBufferBuilder reply_;
  AskAgain ask_again_;
  Scope scope_;
};

}  // namespace tutti
