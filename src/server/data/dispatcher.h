// Dispatcher: the request queue of a data server. The policy decides, the dispatcher does.
//
// What the policy puts in order is the use of the store. A dispatched read gives its turn back when the store has
// handed over the last byte of the quantum; the network then has it while the store already serves the next, for at
// most DispatcherLimits::sending reads at a time. A small write that has to wait in the queue is pulled meanwhile. So a policy that
// serves one request at a time keeps the device busy. A client that makes no progress holds up nobody: parking.h.
//
// The states of a transfer, and which function leads from one to the next, are drawn in transfer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "env/env.h"
#include "env/scope.h"
#include "env/store.h"
#include "policy/orchestra/forward_reads.h"
#include "policy/request/policy.h"
#include "server/data/accounting.h"
#include "server/data/backlog.h"
#include "server/data/cut_counts.h"
#include "server/data/directed_calls.h"
#include "server/data/early_pulls.h"
#include "server/data/local_reads.h"
#include "server/data/local_writes.h"
#include "server/data/lock_fences.h"
#include "server/data/recent_rate.h"
#include "server/data/removed_objects.h"
#include "server/data/statistics.h"
#include "server/data/transfer.h"
#include "server/data/transfer_table.h"
#include "wire/messages.h"

namespace tutti {

struct DispatcherLimits {
  Bytes read_grant;              // the most that a client may read without asking,
  Bytes write_grant;             // and write
  Nanos stall = 10_ms;           // for so long a turn waits for a client whose bytes do not move
  Nanos transfer_limit = 300_s;  // and so long a transfer waits for it in all
  std::size_t sending = 16;      // reads whose bytes are on the network while the store serves the next
  // For so long one of those places waits for a client that takes nothing. Longer than a turn: who shares a link with all the
  // others moves 64 KiB only when each of them has.
  Nanos send_stall = 50_ms;
  // All that a turn reads is asked of the device before any of it is awaited: it has no head that would have to be in many places.
  bool fetch_at_once = false;
};

class Dispatcher {
 public:
  // `boot` stands in every reply; see DataServerOptions. Environment and store must outlive this.
  Dispatcher(const Env& env, Store& store, std::unique_ptr<RequestPolicy> policy, std::uint64_t boot,
             DispatcherLimits limits = {});
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() = default;

  // A transfer to fill in and add.
  [[nodiscard]] std::unique_ptr<Transfer> blank() { return transfers_.blank(); }
  // It has a session, and extents and their length unless it is for a whole object. `tag` is the client's word, `request_time` what the server made of it;
  // it came at `arrival`. Both wall.
  void add(std::unique_ptr<Transfer> transfer, const wire::Tag& tag, Nanos request_time, Nanos arrival);
  // The session's client read and wrote without asking. Counts that, as far as it was granted.
  void count_local(ClientSession& session, std::uint64_t application, const wire::Took& claim);
  // From now on this policy decides. What is queued goes over to it; what is in service goes on, and over to it with
  // what is left after its quantum.
  void change_policy(std::unique_ptr<RequestPolicy> policy);
  // The coordinator's advice, on the steady clock: for the policy that decides now, and for one that takes over while it
  // is valid.
  void advise(Advice advice);
  // The objects are about to be removed: what has not had its last turn fails, and does not make them anew.
  void removed(const RemovedObjects& objects);
  // What was asked for under lost locks of the object, and has not had its last turn, fails. Returns whether something
  // is in a turn still.
  bool fence(ObjectId object, const LockFences& fences);
  // Forgets the queued transfers of a session. Those in service end by themselves; wait for session.drained.
  void drop(const ClientSession& session);

  struct Totals {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    Bytes bytes_read;
    Bytes bytes_written;
    std::uint64_t by_view = 0;  // of reads and writes: that named a range of a view
  };
  // Changes when the object is made shorter. Replies tell it for writes, so that clients know whether all messages of one
  // came on the same side of a cut; and for reads whether any object was cut, so that they know holes
  // (client/transfer/file_end.h).
  [[nodiscard]] std::uint64_t cuts(ObjectId object) const { return cuts_.of(object); }

  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t queued() const { return queued_ + parked_; }
  // Of them, those that wait for their clients alone.
  [[nodiscard]] std::size_t parked() const { return parked_; }
  [[nodiscard]] std::size_t in_service() const { return in_service_; }
  // Of all transfers here.
  [[nodiscard]] Bytes memory() const { return memory_; }
  [[nodiscard]] std::string policy_name() const { return policy_->name(); }
  // Brought up to date by asking.
  [[nodiscard]] std::vector<Accounting::Row> accounts() { return accounting_.rows(env_.clock.now()); }
  [[nodiscard]] Statistics& statistics() { return statistics_; }
  [[nodiscard]] const Backlog& backlog() const { return backlog_; }
  [[nodiscard]] PolicyCounters policy_counters() const { return policy_->counters(); }
  [[nodiscard]] double requests_per_second() { return rate_.per_second(env_.clock.now()); }

 private:
  struct AskAgain : Timer {
    explicit AskAgain(Dispatcher& dispatcher)
        : Timer([](Timer* self) { static_cast<AskAgain*>(self)->dispatcher.dispatch(); }),
          dispatcher(dispatcher) {}
    Dispatcher& dispatcher;
  };

  struct ServeOverdue : Timer {
    explicit ServeOverdue(Dispatcher& dispatcher)
        : Timer([](Timer* self) { static_cast<ServeOverdue*>(self)->dispatcher.release_calls(); }),
          dispatcher(dispatcher) {}
    Dispatcher& dispatcher;
  };

  struct GiveChances : Timer {
    explicit GiveChances(Dispatcher& dispatcher)
        : Timer([](Timer* self) { static_cast<GiveChances*>(self)->dispatcher.give_chances(); }),
          dispatcher(dispatcher) {}
    Dispatcher& dispatcher;
  };

  static constexpr std::size_t kSyncs = 16;
  // One turn of a transfer: the bytes from `begin` to `end`, counted through its extents; none while the way to them is
  // asked for.
  struct Turn {
    Transfer& transfer;
    Bytes begin;
    Bytes end;
    bool over = false;     // the store is done with it
    bool stalled = false;  // its client makes no progress
  };
  class PullSource;
  class PushSink;

  // Asks the policy and starts turns until it has nothing to start.
  void dispatch();
  void start(Turn turn);
  // The tasks of a turn, with and without bytes, and of an early pull.
  Task<void> serve(Turn turn);
  Task<void> find(Turn turn);
  Task<void> sync(Turn turn);
  Task<void> truncate(Turn turn);
  Task<void> prefetch(Turn turn);
  Task<void> fetch_all(ObjectId object, std::vector<Extent> extents);
  // What comes behind a read, because its program reads forward.
  Task<void> fetch_ahead(ObjectId object, Extent extent);
  void follow_policy();
  Task<void> pull_early(Transfer& transfer);
  // Between the store and the client, or the memory of the transfer.
  Task<Status> move_bytes(Turn& turn, std::span<const Extent> extents);
  Task<void> find_rot(Transfer& transfer, std::span<const Extent> extents);
  // As long as bytes move; otherwise a pull fails and the turn has stalled, and what is pushed goes on without the store.
  Task<Status> pull(Turn& turn, Bytes at, Places into);
  Task<Status> push(Transfer& transfer, ConstPlaces from, Bytes at);
  // Outside a turn: there is time until the limit of a transfer.
  Task<Status> pull_in_time(Transfer& transfer, Bytes at, Places into);

  // Whether it would wait for its client in its turn, by all that is known of it.
  [[nodiscard]] static bool must_park(const Transfer& transfer, Nanos now);
  void park(Transfer& transfer, Nanos now);
  void park(Turn& turn);
  void unpark(Transfer& transfer);
  // Begins to pull the parked writes for which there is room, one of a client at a time.
  void pull_parked();
  Task<void> pull_parked(Transfer& transfer);
  Task<void> push_parked(Transfer& transfer, std::vector<std::byte> bytes, Bytes at);
  // Parked writes for which there is no room take their chance in the queue when their clients may have recovered.
  void wait_for_room();
  [[nodiscard]] static bool waits_for_room(const Transfer& transfer);
  void give_chances();
  void release_held(Transfer& transfer);
  void give_up(ClientSession& session, const char* what);

  // A part of a directed call that has to wait for the others; and those whose calls are complete, or waited too long.
  void hold(Transfer& transfer);
  void release_calls();

  // The arrows of transfer.h.
  void enqueue(Transfer& transfer);
  Turn start_turn(Transfer& transfer, Bytes quantum, Nanos now);
  void end_turn(Turn& turn);
  void drop(Transfer& transfer, Nanos now);
  void forget_if_over(Transfer& transfer);

  void answer_again(Transfer& transfer);
  // What was begun on the object has to begin anew: it is cut.
  void begin_anew(ObjectId object);
  // A task is done with the transfer. The last one, after its last turn, answers and forgets it.
  void leave(Transfer& transfer);
  // The task of the turn is at its end.
  void end_task(Turn& turn);
  [[nodiscard]] std::uint64_t cuts_of(const Transfer& transfer) const;
  void reply(const Transfer& transfer);
  void reply_whole(const Transfer& transfer);
  // Adds it to the usage of its user and application, or takes it away.
  static void count(const Transfer& transfer, int change);

  const Env& env_;
  Store& store_;
  StoreTraits traits_;
  std::unique_ptr<RequestPolicy> policy_;
  std::uint64_t generation_ = 0;  // how often the policy has changed
  bool dispatching_ = false;
  std::uint64_t boot_;
  TransferTable transfers_;  // all that are not forgotten
  std::uint64_t next_id_ = 1;
  std::size_t queued_ = 0;
  std::size_t parked_ = 0;
  std::size_t in_service_ = 0;
  std::size_t sending_ = 0;  // turns that are over while the network still has their bytes
  DispatcherLimits limits_;
  EarlyPulls early_;
  ParkedBytes parked_bytes_;
  LocalReadGrants local_reads_;
  LocalWriteGrants local_writes_;
  Bytes memory_;
  CutCounts cuts_;
  Semaphore syncs_;
  // One block after the other: two under way would take turns at the device.
  Semaphore blocks_ahead_;
  Totals totals_;
  std::optional<Advice> advice_;
  Accounting accounting_;
  ForwardReads forward_;
  Statistics statistics_;
  RecentRate rate_;
  Backlog backlog_;
  flatbuffers::FlatBufferBuilder reply_;
  AskAgain ask_again_;
  GiveChances give_chances_;
  DirectedCalls directed_;
  ServeOverdue serve_overdue_;
  Scope scope_;
};

}  // namespace tutti
