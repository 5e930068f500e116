#include "server/data/dispatcher.h"

#include <algorithm>
#include <utility>

#include "env/combine.h"
#include "policy/collective/sieve.h"
#include "server/data/era.h"
#include "server/data/status_reply.h"

namespace tutti {
namespace {

// What a kernel reads ahead by itself.
constexpr Bytes kOneFetch = 128_KiB;
// What a device is asked for at once for one transfer: enough to keep all of a fast one busy, and soon done.
constexpr Bytes kMostFetched = 8_MiB;
// A hole that is read sooner than a device takes one more request.
constexpr Bytes kHole = 16_KiB;

// Whether each begins where the one before ends, or later.
bool ascending(std::span<const Extent> extents) {
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].offset < extents[i - 1].end()) return false;
  }
  return true;
}

QueuedRequest describe(const Transfer& transfer, const wire::Tag& tag) {
  QueuedRequest request;
  request.application = tag.application();
  request.client = tag.client();
  request.sequence = tag.sequence();
  request.user = transfer.session->connection->peer().uid;
  request.bottleneck = Bytes(tag.bottleneck());
  request.object = transfer.object.value;
  request.write = transfer.write;
  request.rank = transfer.visitor.rank();
  request.ranks = transfer.visitor.ranks();
  request.slot = transfer.visitor.slot();
  request.servers = transfer.visitor.servers();
  if (transfer.work == Work::truncate) request.end = Bytes::max();  // it touches all of the object
  if (transfer.extents.empty()) return request;
  request.offset = transfer.extents.front().offset;
  for (const Extent& extent : transfer.extents) {
    request.offset = std::min(request.offset, extent.offset);
    request.end = std::max(request.end, extent.end());
  }
  request.length = transfer.length;
  if (ascending(transfer.extents)) request.extents = transfer.extents;
  return request;
}

Task<Status> wait_for(Event& event) {
  co_await event.wait();
  co_return Status();
}

}  // namespace

// The client's memory as the source of a write.
class Dispatcher::PullSource : public Source {
 public:
  PullSource(Dispatcher& dispatcher, Turn& turn) : dispatcher_(dispatcher), turn_(turn) {}
  [[nodiscard]] std::uint64_t origin() const override { return turn_.transfer.request.client; }
  Task<Status> fill(Bytes at, Places places) override {
    const Transfer& transfer = turn_.transfer;
    Connection& connection = *transfer.session->connection;
    if (connection.moves_at_once()) return connection.pull(transfer.region, turn_.begin + at, places);
    return dispatcher_.pull(turn_, turn_.begin + at, places);
  }

 private:
  Dispatcher& dispatcher_;
  Turn& turn_;
};

// The client's memory as the sink of a read. Taking the last byte of the turn ends it.
class Dispatcher::PushSink : public Sink {
 public:
  PushSink(Dispatcher& dispatcher, Turn& turn) : dispatcher_(dispatcher), turn_(turn) {}
  [[nodiscard]] std::uint64_t origin() const override { return turn_.transfer.request.client; }
  Task<Status> take(Bytes at, ConstPlaces pieces) override {
    at += turn_.begin;
    if (at + Bytes(length_of(pieces)) == turn_.end) dispatcher_.end_turn(turn_);
    Transfer& transfer = turn_.transfer;
    Connection& connection = *transfer.session->connection;
    if (connection.moves_at_once()) return connection.push(pieces, transfer.region, at);
    return dispatcher_.push(transfer, pieces, at);
  }

 private:
  Dispatcher& dispatcher_;
  Turn& turn_;
};

Dispatcher::Dispatcher(const Env& env, Store& store, std::unique_ptr<RequestPolicy> policy,
                       std::uint64_t boot, DispatcherLimits limits)
    : env_(env),
      store_(store),
      traits_(store.traits()),
      policy_(std::move(policy)),
      boot_(boot),
      limits_(limits),
      local_reads_(store, limits.read_grant),
      local_writes_(store, limits.write_grant),
      cuts_(env.random.next()),
      syncs_(env.clock.executor(), kSyncs),
      blocks_ahead_(env.clock.executor(), 1),
      statistics_(env.clock.executor(), store),
      rate_(env.clock.now()),
      reply_(1024),
      ask_again_(*this),
      give_chances_(*this),
      serve_overdue_(*this),
      scope_(env.clock.executor()) {
  follow_policy();
}

void Dispatcher::follow_policy() {
  statistics_.follow(policy_->name());
  forward_ = ForwardReads();
}

void Dispatcher::add(std::unique_ptr<Transfer> transfer, const wire::Tag& tag, Nanos request_time,
                     Nanos arrival) {
  QueuedRequest& request = transfer->request;
  request = describe(*transfer, tag);
  request.id = next_id_++;
  request.request_time = request_time;
  request.arrival = arrival;
  memory_ += transfer->memory();
  count(*transfer, 1);
  Transfer& added = transfers_.insert(std::move(transfer));
  // When it was applied is not known any more: in the first era of the machine, to be on the safe side.
  added.era = boot_;
  if (added.applied > 0_B && added.applied >= added.length) return answer_again(added);
  const ClientSession& session = *added.session;
  const Nanos now = env_.clock.now();
  added.account = accounting_.arrived(request.application, session.program, session.job, now);
  added.generation = generation_;
  backlog_.arrived(added.length, now);
  enqueue(added);
  statistics_.arrived();
  if (added.directed.id() != 0 && directed_.add(added, now)) return hold(added);
  policy_->add(added.request, now);
  const bool write = added.write && added.work == Work::transfer;
  dispatch();
  if (!write) return;  // it may be forgotten by now
  // Also while the way to its bytes is asked for.
  if (added.done == 0_B && !added.session->pace.slow(now) && early_.begin(added, env_.clock.executor())) {
    ++added.tasks;
    added.session->task_began();
    scope_.spawn(pull_early(added));
  }
}

// A write that was applied already: its client did not get the answer.
void Dispatcher::answer_again(Transfer& transfer) {
  reply(transfer);
  memory_ -= transfer.memory();
  count(transfer, -1);
  transfers_.erase(transfer);
}

void Dispatcher::count(const Transfer& transfer, int change) {
  for (Usage* usage : {transfer.session->user.get(), transfer.usage.get()}) {
    if (usage == nullptr) continue;
    usage->requests += static_cast<std::size_t>(change);
    usage->memory = change > 0 ? usage->memory + transfer.memory() : usage->memory - transfer.memory();
  }
}

Task<void> Dispatcher::pull_early(Transfer& transfer) {
  const std::span<std::byte> place(transfer.inside);
  Status status = co_await pull_in_time(transfer, 0_B, only(place));
  if (!status.ok()) transfer.fail(std::move(status));
  transfer.pulled->set();
  const bool late = transfer.state == TransferState::parked;
  if (late) {
    --transfer.session->pace.late;
    unpark(transfer);
  }
  leave(transfer);
  if (late) dispatch();
}

void Dispatcher::change_policy(std::unique_ptr<RequestPolicy> policy) {
  policy_ = std::move(policy);
  follow_policy();
  ++generation_;
  ask_again_.disarm();
  const Nanos now = env_.clock.now();
  if (advice_ && advice_->expiry > now) policy_->advise(*advice_, now);
  for (Transfer* transfer : transfers_.in_state(TransferState::queued)) {
    policy_->add(transfer->request, now);
    transfer->generation = generation_;
  }
  dispatch();
}

void Dispatcher::advise(Advice advice) {
  advice_ = std::move(advice);
  policy_->advise(*advice_, env_.clock.now());
  dispatch();
}

void Dispatcher::removed(const RemovedObjects& objects) {
  if (queued_ + parked_ + in_service_ == 0) return;
  using enum TransferState;
  for (const TransferState state : {queued, finding, serving, parked}) {
    for (Transfer* transfer : transfers_.in_state(state)) {
      if (objects.contains(transfer->object)) transfer->fail(RemovedObjects::refusal());
    }
  }
}

bool Dispatcher::fence(ObjectId object, const LockFences& fences) {
  bool in_turn = false;
  transfers_.for_each([&](Transfer& transfer) {
    if (transfer.object != object || transfer.over()) return;
    if (!fences.lost(object, transfer.session->id, transfer.lock)) return;
    transfer.fail(Status(Code::stale, "the lock was lost: others may have changed what it protected"));
    in_turn = in_turn || transfer.state == TransferState::serving;
  });
  return in_turn;
}

void Dispatcher::drop(const ClientSession& session) {
  const Nanos now = env_.clock.now();
  for (Transfer* transfer : transfers_.in_state(TransferState::queued)) {
    if (transfer->session.get() == &session) drop(*transfer, now);
  }
  for (Transfer* transfer : transfers_.in_state(TransferState::parked)) {
    if (transfer->session.get() == &session) drop(*transfer, now);
  }
  dispatch();
}

// A turn may end inside start(), and asks for the next ones then: that is done here, one after the other.
void Dispatcher::dispatch() {
  if (dispatching_) return;
  dispatching_ = true;
  while (sending_ < limits_.sending) {
    const Nanos now = env_.clock.now();
    const Decision decision = policy_->next(now);
    if (decision.kind == Decision::Kind::wait) env_.clock.executor().arm(ask_again_, decision.until);
    if (decision.kind != Decision::Kind::dispatch) break;
    Transfer& transfer = transfers_.at(decision.id);
    if (must_park(transfer, now)) {
      park(transfer, now);
    } else {
      start(start_turn(transfer, decision.quantum, now));
    }
  }
  dispatching_ = false;
}

// What is in memory is read without waiting: that needs no task, or one that ends at once.
void Dispatcher::start(Turn turn) {
  Transfer& transfer = turn.transfer;
  if (transfer.state == TransferState::finding) return scope_.spawn(find(turn));
  if (transfer.work != Work::transfer && !transfer.status.ok()) return end_task(turn);
  if (transfer.work == Work::sync) return scope_.spawn(sync(turn));
  if (transfer.work == Work::truncate) return scope_.spawn(truncate(turn));
  if (transfer.work == Work::prefetch) return scope_.spawn(prefetch(turn));
  if (!transfer.write && turn.begin == 0_B) local_reads_.offer(transfer);
  if (transfer.local.key != 0) return end_task(turn);
  if (transfer.inside_reply && traits_.in_memory) return scope_.start(serve(turn));
  scope_.spawn(serve(turn));
}

Task<void> Dispatcher::serve(Turn turn) {
  Transfer& transfer = turn.transfer;
  if (transfer.pulled && !transfer.pulled->is_set()) {
    const Status came = co_await with_timeout(env_.clock, limits_.stall, wait_for(*transfer.pulled), "pull");
    turn.stalled = !came.ok();
  }
  if (turn.stalled) co_return park(turn);
  // Cleared: what the object does not have goes out as zeros.
  if (transfer.inside_reply) transfer.inside.assign(transfer.length.count(), std::byte{0});
  if (transfer.status.ok()) {
    Status status;
    if (turn.begin == 0_B && turn.end == transfer.length) {
      status = co_await move_bytes(turn, transfer.extents);
    } else {
      const std::vector<Extent> extents = slice(transfer.extents, turn.begin, turn.end);
      status = co_await move_bytes(turn, extents);
    }
    if (turn.stalled) co_return park(turn);
    if (!status.ok()) transfer.fail(std::move(status));
  }
  end_task(turn);
}

Task<void> Dispatcher::find(Turn turn) {
  co_await store_.warm(turn.transfer.object);
  end_task(turn);
}

// The client may be gone: what was fetched for it is there for others.
Task<void> Dispatcher::prefetch(Turn turn) {
  const std::vector<Extent> extents = slice(turn.transfer.extents, turn.begin, turn.end);
  if (!turn.transfer.session->connection->closed()) co_await store_.prefetch(turn.transfer.object, extents);
  end_task(turn);
}

Task<Status> Dispatcher::move_bytes(Turn& turn, std::span<const Extent> extents) {
  Transfer& transfer = turn.transfer;
  Connection& connection = *transfer.session->connection;
  // A client that is gone may use its memory for something else by now.
  if (connection.closed()) co_return Status(Code::unavailable, "the client is gone");
  const bool held = transfer.pulled || transfer.inside_reply || transfer.held.length > 0_B;
  const std::span<std::byte> inside =
      std::span(transfer.inside).subspan(held ? (turn.begin - transfer.held.offset).count() : 0);
  if (transfer.write) {
    PullSource client(*this, turn);
    MemorySource pulled(inside);
    Source& source = held ? static_cast<Source&>(pulled) : client;
    co_return co_await store_.write(transfer.object, extents, source);
  }
  PushSink client(*this, turn);
  MemorySink reply(inside);
  Sink& sink = held ? static_cast<Sink&>(reply) : client;
  const bool many = transfer.extents.size() > 1 || transfer.length > kOneFetch;
  if (limits_.fetch_at_once && !traits_.in_memory && many && turn.begin == 0_B)
    scope_.spawn(fetch_all(transfer.object, join_over_holes(slice(transfer.extents, 0_B,
                                                                  std::min(transfer.length, kMostFetched)),
                                                            kHole, Bytes::max())));
  const Result<ReadResult> got = co_await store_.read(transfer.object, extents, sink);
  if (got.code() == Code::corrupt) co_await find_rot(transfer, extents);
  if (!got.ok()) co_return got.status();
  transfer.valid_end = std::min(transfer.valid_end, got->end);
  co_return Status();
}

// The client can say where in the file it is.
Task<void> Dispatcher::find_rot(Transfer& transfer, std::span<const Extent> extents) {
  for (const Extent& extent : extents) {
    const Result<Scrubbed> found = co_await store_.verify(transfer.object, extent);
    if (!found.ok() || found->rotten.empty()) continue;
    transfer.rotten = found->rotten.front();
    co_return;
  }
}

void Dispatcher::enqueue(Transfer& transfer) {
  transfer.enter(TransferState::queued);
  ++transfer.session->queued;
  ++queued_;
}

Dispatcher::Turn Dispatcher::start_turn(Transfer& transfer, Bytes quantum, Nanos now) {
  if (transfer.done == 0_B) transfer.era = era_of(boot_, store_, transfer.object);
  const bool cold =
      traits_.cold && !transfer.extents.empty() && !transfer.warmed && store_.cold(transfer.object);
  transfer.enter(cold ? TransferState::finding : TransferState::serving);
  transfer.warmed = true;
  if (cold) quantum = 0_B;
  if (transfer.held.length > 0_B) quantum = std::min(quantum, transfer.held.end() - transfer.done);
  const Turn turn{transfer, transfer.done,
                  transfer.done + std::min(quantum, transfer.length - transfer.done)};
  transfer.done = turn.end;
  --transfer.session->queued;
  --queued_;
  ++in_service_;
  ++transfer.tasks;
  transfer.session->task_began();
  accounting_.started(transfer.account, now);
  if (transfer.work == Work::transfer && !cold && turn.begin == 0_B) {
    std::optional<Extent> ahead;
    // What is in memory need not be fetched.
    if (!transfer.write && !traits_.in_memory)
      ahead = forward_.read(transfer.request.application, transfer.object.value, transfer.extents,
                            policy_->ahead());
    transfer.way =
        statistics_.started(transfer.request.application, transfer.object, transfer.extents, transfer.write,
                            ahead, policy_->dedicated(transfer.request.application, now), now);
    transfer.began = now;
    // Behind the statistics: they ask what is in memory already.
    if (ahead) scope_.spawn(fetch_ahead(transfer.object, *ahead));
  }
  return turn;
}

Task<void> Dispatcher::fetch_ahead(ObjectId object, Extent extent) {
  co_await blocks_ahead_.acquire();
  co_await store_.prefetch(object, {&extent, 1});
  blocks_ahead_.release();
}

Task<void> Dispatcher::fetch_all(ObjectId object, std::vector<Extent> extents) {
  co_await store_.prefetch(object, extents);
}

// The store is done with the turn; the network may not be.
void Dispatcher::end_turn(Turn& turn) {
  Transfer& transfer = turn.transfer;
  turn.over = true;
  if (transfer.write && transfer.work == Work::transfer) {
    if (transfer.status.ok()) transfer.applied = turn.end;
    if (std::exchange(transfer.again, false)) transfer.done = transfer.applied = 0_B;
  }
  ++sending_;
  --in_service_;
  const bool gone = transfer.session->connection->closed();
  const bool last = gone || !transfer.status.ok() || transfer.done == transfer.length;
  const Nanos now = env_.clock.now();
  const bool policy_has_it = transfer.generation == generation_;
  if (policy_has_it) policy_->served(transfer.request.id, turn.end - turn.begin, last, now);
  if (last) {
    transfer.enter(TransferState::sending);
    // Now, not with the reply: the account may go to another application when it has nothing here.
    const bool counts = transfer.work == Work::transfer;
    if (counts && !gone && transfer.status.ok())
      accounting_.count(transfer.account, transfer.write, transfer.length);
    accounting_.ended(transfer.account, now);
    if (counts)
      statistics_.ended(transfer.object, transfer.way, transfer.length, transfer.write, transfer.began, now);
    rate_.note(now);
  } else {
    enqueue(transfer);
    if (!policy_has_it) policy_->add(transfer.request, now);
    transfer.generation = generation_;
    accounting_.returned(transfer.account, now);
  }
  dispatch();
}

void Dispatcher::drop(Transfer& transfer, Nanos now) {
  const bool parked = transfer.state == TransferState::parked;
  if (transfer.waits_for_call) directed_.forget(transfer);
  transfer.enter(TransferState::dropped);
  --transfer.session->queued;
  --(parked ? parked_ : queued_);
  accounting_.dropped(transfer.account, now);
  if (!parked) policy_->drop(transfer.request.id, now);
  forget_if_over(transfer);
}

void Dispatcher::leave(Transfer& transfer) {
  --transfer.tasks;
  transfer.session->task_ended();
  forget_if_over(transfer);
}

void Dispatcher::forget_if_over(Transfer& transfer) {
  if (transfer.tasks > 0 || !transfer.over()) return;
  if (transfer.number != 0 && transfer.applied > 0_B)
    transfer.session->replay->note(transfer.number, transfer.applied, cuts_of(transfer));
  const bool moved = transfer.state == TransferState::sending && transfer.status.ok();
  backlog_.left(transfer.length, moved, env_.clock.now());
  if (transfer.work == Work::prefetch) {
    transfer.session->prefetching -= transfer.length;
  } else if (transfer.state == TransferState::sending) {
    reply(transfer);
  }
  early_.end(transfer);
  release_held(transfer);
  memory_ -= transfer.memory();
  count(transfer, -1);
  transfers_.erase(transfer);
}

void Dispatcher::end_task(Turn& turn) {
  Transfer& transfer = turn.transfer;
  // Before the turn ends: the next one may be pulled again.
  if (transfer.done == transfer.held.end()) release_held(transfer);
  if (!turn.over) end_turn(turn);
  --sending_;
  leave(transfer);
  dispatch();
}

void Dispatcher::count_local(ClientSession& session, std::uint64_t application, const wire::Took& claim) {
  const LocalGrants::Told reads = session.granted.told_reads(claim);
  const LocalGrants::Told writes = session.granted.told_writes(claim);
  if (reads.count + writes.count == 0) return;
  const Nanos now = env_.clock.now();
  const Accounting::Slot slot = accounting_.arrived(application, session.program, session.job, now);
  if (reads.count > 0) accounting_.count(slot, false, reads.bytes, reads.count);
  if (writes.count > 0) accounting_.count(slot, true, writes.bytes, writes.count);
  accounting_.dropped(slot, now);
  rate_.note(now, reads.count + writes.count);
  totals_.reads += reads.count;
  totals_.bytes_read += reads.bytes;
  totals_.writes += writes.count;
  totals_.bytes_written += writes.bytes;
}

std::uint64_t Dispatcher::cuts_of(const Transfer& transfer) const {
  return transfer.cuts_then.value_or(cuts_.of(transfer.object));
}

void Dispatcher::reply(const Transfer& transfer) {
  const Status& status = transfer.status;
  if (transfer.work != Work::transfer) return reply_whole(transfer);
  if (status.ok() && transfer.done == transfer.length) {
    ++(transfer.write ? totals_.writes : totals_.reads);
    if (transfer.by_view) ++totals_.by_view;
    (transfer.write ? totals_.bytes_written : totals_.bytes_read) += transfer.length;
  }
  Connection& connection = *transfer.session->connection;
  if (connection.closed()) return;
  reply_.Clear();
  flatbuffers::Offset<flatbuffers::String> message;
  if (!status.ok()) message = reply_.CreateString(status.message());
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> bytes;
  if (status.ok() && transfer.inside_reply) {
    bytes = reply_.CreateVector(reinterpret_cast<const std::uint8_t*>(transfer.inside.data()),
                                transfer.inside.size());
  }
  // Nobody else waits: its client may read or write more without asking.
  const bool generous =
      status.ok() && (queued_ + in_service_ == 0 || accounting_.nobody_but(transfer.request.application));
  LocalReadGrants::Grant ahead;
  LocalWriteGrants::Grant writing;
  if (generous && transfer.write) {
    writing = local_writes_.grant(transfer);
    ahead = {0_B, writing.bytes, writing.time};
  } else if (generous) {
    ahead = local_reads_.grant(transfer);
  }
  const std::uint64_t key = transfer.write ? writing.object.key : transfer.local.key;
  const std::uint64_t cuts = transfer.write ? cuts_of(transfer) : cuts_.last();
  // A device serves better what it has more of: it puts it in order itself.
  const wire::Load load(
      static_cast<std::uint32_t>(backlog_.wait().count() / 1000),
      static_cast<std::uint32_t>(traits_.in_memory ? std::max<std::uint64_t>(backlog_.pace(), 1) : 0));
  reply_.Finish(wire::CreateTransferReply(
      reply_, static_cast<std::uint16_t>(status.code()), message, transfer.valid_end.count(), bytes,
      transfer.era, key, ahead.end.count(), ahead.time.count(), ahead.bytes.count(), cuts,
      transfer.rotten.count(), &load, writing.object.marks_key, writing.object.mark, writing.object.value));
  const auto type = wire::reply_type(transfer.write ? wire::Type::write : wire::Type::read);
  // A reply that cannot be sent closes the connection; the session's own loop sees that.
  connection.send(type, transfer.frame, wire::bytes(reply_)).ignore();
}

void Dispatcher::reply_whole(const Transfer& transfer) {
  Connection& connection = *transfer.session->connection;
  if (connection.closed()) return;
  reply_.Clear();
  const auto message = message_of(reply_, transfer.status);
  // A sync tells the era that it found, what changes bytes that in which it began.
  const std::uint64_t era =
      transfer.work == Work::sync ? era_of(boot_, store_, transfer.object) : transfer.era;
  reply_.Finish(wire::CreateStatusReply(reply_, code_of(transfer.status), message, era));
  const auto type = transfer.work == Work::sync ? wire::Type::sync : wire::Type::truncate;
  connection.send(wire::reply_type(type), transfer.frame, wire::bytes(reply_)).ignore();
}

}  // namespace tutti
