// Dispatcher: the request queue of a data server. The policy decides, the dispatcher does.
//
// What the policy puts in order is the use of the store. A dispatched read gives its turn back when the store has
// handed over the last byte of the quantum; the network then has it while the store already serves the next, for at
// most kSending reads at a time. A small write that has to wait in the queue is pulled meanwhile. So a policy that
// serves one request at a time keeps the device busy, and a slow client does not hold up the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
#include "server/data/accounting.h"
#include "server/data/recent_rate.h"
#include "server/data/statistics.h"
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
  Bytes granted;  // a bound of what its client may have taken without asking, and has not told yet
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
  std::uint64_t take = 0;  // a read whose client can take the bytes from a file: its key or 1; 0: it cannot
  Bytes ahead;             // how much more it would take without asking
  Bytes shared_length;     // of the object, when the file was shared
  std::shared_ptr<SessionLink> session;

  QueuedRequest request;         // what the policy knows of it; the id is ours
  std::uint64_t generation = 0;  // of the policy that has it
  Accounting::Slot account = Accounting::kOthers;
  bool warmed = false;       // the way to its bytes was asked for, or was known
  std::size_t in_store = 0;  // turns that the store has not ended
  Bytes done;                // quanta that had their turn so far, this one included
  std::size_t at_work = 0;   // tasks that use this: quanta in the store or on the network, and the early pull
  bool finished = false;     // had its last turn, or is dropped
  bool dropped = false;      // nobody waits for an answer
  Status status;             // the first failure
  Bytes valid_end = Bytes::max();
  std::vector<std::byte>
      inside;  // of a small read, made when it is dispatched, or pulled early for a small write
  std::unique_ptr<Event> pulled;  // of an early pull: set at its end
  std::uint64_t taken = 0;        // the key of the file that the client takes the bytes from

  // What it takes while it waits, its places in the policy and in the dispatcher's table counted in; early pulls have
  // a limit of their own.
  [[nodiscard]] Bytes memory() const {
    constexpr std::size_t kPlaces = 384;  // tables and heaps, as they grow by doubling
    return Bytes(sizeof(Transfer) + kPlaces + extents.capacity() * sizeof(Extent) +
                 region.segments.capacity() * sizeof(Segment));
  }
};

class Dispatcher {
 public:
  // `boot` stands in every reply, `read_grant` is the most that a reader may take without asking; see
  // DataServerOptions.
  Dispatcher(const Env& env, Store& store, std::unique_ptr<RequestPolicy> policy, std::uint64_t boot,
             Bytes read_grant = 0_B);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() = default;

  // `tag` is the client's word, `request_time` what the server made of it; it came at `arrival`. Both wall.
  void add(std::unique_ptr<Transfer> transfer, const wire::Tag& tag, Nanos request_time, Nanos arrival);
  // The session's client took bytes without asking. Counts them, as far as they were granted.
  void took(SessionLink& session, std::uint64_t application, const wire::Took& took);
  // From now on this policy decides. What is queued goes over to it; what is in service goes on, and over to it with
  // what is left after its quantum.
  void change_policy(std::unique_ptr<RequestPolicy> policy);
  // The coordinator's advice, on the steady clock: for the policy that decides now, and for one that takes over while it
  // is valid.
  void advise(Advice advice);
  // Forgets the queued transfers of a session. Those in service end by themselves; wait for session.drained.
  void drop(const SessionLink& session);

  struct Totals {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    Bytes bytes_read;
    Bytes bytes_written;
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t queued() const { return queued_; }
  [[nodiscard]] std::size_t in_service() const { return in_service_; }
  // Of all transfers here.
  [[nodiscard]] Bytes memory() const { return memory_; }
  [[nodiscard]] std::string policy_name() const { return policy_->name(); }
  // Brought up to date by asking.
  [[nodiscard]] std::vector<Accounting::Row> accounts() { return accounting_.rows(env_.clock.now()); }
  [[nodiscard]] Statistics& statistics() { return statistics_; }
  [[nodiscard]] double requests_per_second() { return rate_.per_second(env_.clock.now()); }

 private:
  struct AskAgain : Timer {
    explicit AskAgain(Dispatcher& dispatcher)
        : Timer([](Timer* self) { static_cast<AskAgain*>(self)->dispatcher.dispatch(); }),
          dispatcher(dispatcher) {}
    Dispatcher& dispatcher;
  };

  static constexpr std::size_t kSending = 16;
  // One turn of a transfer: the bytes from `begin` to `end`, counted through its extents.
  struct Turn {
    Transfer& transfer;
    Bytes begin;
    Bytes end;
    bool over = false;
  };
  class PushSink;

  void dispatch();
  Task<void> serve(Turn turn);
  // A turn without bytes: the device is asked for the way to them, and who is next may be another one afterwards.
  Task<void> find(Turn turn);
  // Lets the client take the bytes of a read itself, if the store shares the object.
  void grant(Transfer& transfer);
  // Up to where its client may read on without asking: only as long as nobody else waits. 0: it has to ask.
  [[nodiscard]] Bytes grant_ahead(const Transfer& transfer) const;
  Task<Status> move(Turn& turn, Extent extent, Bytes at);
  Task<void> pull_early(Transfer& transfer);
  void end_turn(Turn& turn);
  void end(Turn& turn);
  void leave(Transfer& transfer);
  void forget(Transfer& transfer);
  void reply(Transfer& transfer);

  const Env& env_;
  Store& store_;
  std::unique_ptr<RequestPolicy> policy_;
  std::uint64_t generation_ = 0;  // how often the policy has changed
  std::uint64_t boot_;
  Bytes read_grant_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Transfer>> transfers_;  // queued or in service
  std::uint64_t next_id_ = 1;
  std::size_t queued_ = 0;
  std::size_t in_service_ = 0;
  std::size_t sending_ = 0;  // turns that are over while the network still has their bytes
  Bytes early_;              // pulled early and not yet served
  Bytes memory_;
  Totals totals_;
  std::optional<Advice> advice_;
  Accounting accounting_;
  Statistics statistics_;
  RecentRate rate_;
  flatbuffers::FlatBufferBuilder reply_;
  AskAgain ask_again_;
  Scope scope_;
};

}  // namespace tutti
