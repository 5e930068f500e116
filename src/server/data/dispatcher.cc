#include "server/data/dispatcher.h"

#include <algorithm>

#include "server/data/era.h"

namespace tutti {
namespace {

// The client's memory as the source of a write. `begin` is where the turn begins in the region.
class PullSource : public Source {
 public:
  PullSource(Connection& connection, const Region& region, Bytes begin)
      : connection_(connection), region_(region), begin_(begin) {}
  Task<Status> fill(Bytes at, Places places) override {
    return connection_.pull(region_, begin_ + at, places);
  }

 private:
  Connection& connection_;
  const Region& region_;
  Bytes begin_;
};

QueuedRequest describe(const Transfer& transfer, const wire::Tag& tag) {
  QueuedRequest request;
  request.application = tag.application();
  request.client = tag.client();
  request.sequence = tag.sequence();
  request.bottleneck = Bytes(tag.bottleneck());
  request.object = transfer.object.value;
  request.offset = transfer.extents.front().offset;
  for (const Extent& extent : transfer.extents) {
    request.offset = std::min(request.offset, extent.offset);
    request.end = std::max(request.end, extent.end());
  }
  request.length = transfer.length;
  request.write = transfer.write;
  return request;
}

}  // namespace

// The client's memory as the sink of a read. Taking the last byte of the turn ends it.
class Dispatcher::PushSink : public Sink {
 public:
  PushSink(Dispatcher& dispatcher, Turn& turn) : dispatcher_(dispatcher), turn_(turn) {}
  Task<Status> take(Bytes at, ConstPlaces pieces) override {
    at += turn_.begin;
    if (at + Bytes(length_of(pieces)) == turn_.end) dispatcher_.end_turn(turn_);
    return turn_.transfer.session->connection->push(pieces, turn_.transfer.region, at);
  }

 private:
  Dispatcher& dispatcher_;
  Turn& turn_;
};

Dispatcher::Dispatcher(const Env& env, Store& store, std::unique_ptr<RequestPolicy> policy,
                       std::uint64_t boot, Bytes read_grant)
    : env_(env),
      store_(store),
      traits_(store.traits()),
      policy_(std::move(policy)),
      boot_(boot),
      local_reads_(store, read_grant),
      statistics_(env.clock.executor(), store),
      rate_(env.clock.now()),
      reply_(1024),
      ask_again_(*this),
      scope_(env.clock.executor()) {}

void Dispatcher::add(std::unique_ptr<Transfer> transfer, const wire::Tag& tag, Nanos request_time,
                     Nanos arrival) {
  QueuedRequest& request = transfer->request;
  request = describe(*transfer, tag);
  request.id = next_id_++;
  request.request_time = request_time;
  request.arrival = arrival;
  request.in_memory = traits_.in_memory;
  memory_ += transfer->memory();
  Transfer& added = transfers_.insert(std::move(transfer));
  const ClientSession& session = *added.session;
  const Nanos now = env_.clock.now();
  added.account = accounting_.arrived(request.application, session.program, session.job, now);
  added.generation = generation_;
  enqueue(added);
  statistics_.arrived();
  policy_->add(added.request, now);
  const bool write = added.write;
  dispatch();
  if (!write) return;  // it may be forgotten by now
  // Also while the way to its bytes is asked for.
  if (added.done == 0_B && early_.begin(added, env_.clock.executor())) {
    ++added.tasks;
    added.session->task_began();
    scope_.spawn(pull_early(added));
  }
}

Task<void> Dispatcher::pull_early(Transfer& transfer) {
  const std::span<std::byte> place(transfer.inside);
  Status status = co_await transfer.session->connection->pull(transfer.region, 0_B, only(place));
  if (!status.ok()) transfer.fail(std::move(status));
  transfer.pulled->set();
  leave(transfer);
}

void Dispatcher::change_policy(std::unique_ptr<RequestPolicy> policy) {
  policy_ = std::move(policy);
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

void Dispatcher::drop(const ClientSession& session) {
  const Nanos now = env_.clock.now();
  for (Transfer* transfer : transfers_.in_state(TransferState::queued)) {
    if (transfer->session.get() == &session) drop(*transfer, now);
  }
  dispatch();
}

// A turn may end inside start(), and asks for the next ones then: that is done here, one after the other.
void Dispatcher::dispatch() {
  if (dispatching_) return;
  dispatching_ = true;
  while (sending_ < kSending) {
    const Nanos now = env_.clock.now();
    const Decision decision = policy_->next(now);
    if (decision.kind == Decision::Kind::wait) env_.clock.executor().arm(ask_again_, decision.until);
    if (decision.kind != Decision::Kind::dispatch) break;
    start(start_turn(transfers_.at(decision.id), decision.quantum, now));
  }
  dispatching_ = false;
}

// What is in memory is read without waiting: that needs no task, or one that ends at once.
void Dispatcher::start(Turn turn) {
  Transfer& transfer = turn.transfer;
  if (transfer.state == TransferState::finding) return scope_.spawn(find(turn));
  if (!transfer.write && turn.begin == 0_B) local_reads_.offer(transfer);
  if (transfer.local.key != 0) return end_task(turn);
  if (transfer.inside_reply && traits_.in_memory) return scope_.start(serve(turn));
  scope_.spawn(serve(turn));
}

Task<void> Dispatcher::serve(Turn turn) {
  Transfer& transfer = turn.transfer;
  if (transfer.pulled) co_await transfer.pulled->wait();
  if (transfer.inside_reply) transfer.inside.resize(transfer.length.count());
  if (transfer.status.ok()) {
    Status status;
    if (turn.begin == 0_B && turn.end == transfer.length) {
      status = co_await move_bytes(turn, transfer.extents);
    } else {
      const std::vector<Extent> extents = slice(transfer.extents, turn.begin, turn.end);
      status = co_await move_bytes(turn, extents);
    }
    if (!status.ok()) transfer.fail(std::move(status));
  }
  end_task(turn);
}

Task<void> Dispatcher::find(Turn turn) {
  co_await store_.warm(turn.transfer.object);
  end_task(turn);
}

Task<Status> Dispatcher::move_bytes(Turn& turn, std::span<const Extent> extents) {
  Transfer& transfer = turn.transfer;
  Connection& connection = *transfer.session->connection;
  // A client that is gone may use its memory for something else by now.
  if (connection.closed()) co_return Status(Code::unavailable, "the client is gone");
  const bool held = transfer.pulled || transfer.inside_reply;
  const std::span<std::byte> inside = std::span(transfer.inside).subspan(held ? turn.begin.count() : 0);
  if (transfer.write) {
    PullSource client(connection, transfer.region, turn.begin);
    MemorySource pulled(inside);
    Source& source = held ? static_cast<Source&>(pulled) : client;
    co_return co_await store_.write(transfer.object, extents, source);
  }
  PushSink client(*this, turn);
  MemorySink reply(inside);
  Sink& sink = held ? static_cast<Sink&>(reply) : client;
  const Result<ReadResult> got = co_await store_.read(transfer.object, extents, sink);
  if (!got.ok()) co_return got.status();
  transfer.valid_end = std::min(transfer.valid_end, got->end);
  co_return Status();
}

void Dispatcher::enqueue(Transfer& transfer) {
  transfer.enter(TransferState::queued);
  ++transfer.session->queued;
  ++queued_;
}

Dispatcher::Turn Dispatcher::start_turn(Transfer& transfer, Bytes quantum, Nanos now) {
  if (transfer.done == 0_B) transfer.era = era_of(boot_, store_, transfer.object);
  const bool cold = traits_.cold && !transfer.warmed && store_.cold(transfer.object);
  transfer.enter(cold ? TransferState::finding : TransferState::serving);
  transfer.warmed = true;
  if (cold) quantum = 0_B;
  const Turn turn{transfer, transfer.done,
                  transfer.done + std::min(quantum, transfer.length - transfer.done)};
  transfer.done = turn.end;
  --transfer.session->queued;
  --queued_;
  ++in_service_;
  ++transfer.tasks;
  transfer.session->task_began();
  accounting_.started(transfer.account, now);
  return turn;
}

// The store is done with the turn; the network may not be.
void Dispatcher::end_turn(Turn& turn) {
  Transfer& transfer = turn.transfer;
  turn.over = true;
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
    if (!gone && transfer.status.ok()) accounting_.count(transfer.account, transfer.write, transfer.length);
    accounting_.ended(transfer.account, now);
    statistics_.served(transfer.request.application, transfer.object, transfer.extents.front().offset,
                       transfer.extents.back().end());
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
  transfer.enter(TransferState::dropped);
  --transfer.session->queued;
  --queued_;
  accounting_.dropped(transfer.account, now);
  policy_->drop(transfer.request.id, now);
  forget_if_over(transfer);
}

void Dispatcher::leave(Transfer& transfer) {
  --transfer.tasks;
  transfer.session->task_ended();
  forget_if_over(transfer);
}

void Dispatcher::forget_if_over(Transfer& transfer) {
  if (transfer.tasks > 0 || !transfer.over()) return;
  if (transfer.state == TransferState::sending) reply(transfer);
  early_.end(transfer);
  memory_ -= transfer.memory();
  transfers_.erase(transfer);
}

void Dispatcher::end_task(Turn& turn) {
  if (!turn.over) end_turn(turn);
  --sending_;
  leave(turn.transfer);
  dispatch();
}

void Dispatcher::count_local_reads(ClientSession& session, std::uint64_t application,
                                   const wire::Took& claim) {
  const LocalReadGrants::Told told = LocalReadGrants::told(session, claim);
  if (told.reads == 0) return;
  const Nanos now = env_.clock.now();
  const Accounting::Slot slot = accounting_.arrived(application, session.program, session.job, now);
  accounting_.count(slot, false, told.bytes, told.reads);
  accounting_.dropped(slot, now);
  rate_.note(now, told.reads);
  totals_.reads += told.reads;
  totals_.bytes_read += told.bytes;
}

void Dispatcher::reply(const Transfer& transfer) {
  const Status& status = transfer.status;
  if (status.ok() && transfer.done == transfer.length) {
    ++(transfer.write ? totals_.writes : totals_.reads);
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
  const bool quiet = queued_ + in_service_ == 0;  // nobody waits: its client may read more without asking
  const LocalReadGrants::Grant ahead =
      status.ok() && quiet ? local_reads_.grant(transfer) : LocalReadGrants::Grant();
  reply_.Finish(wire::CreateTransferReply(reply_, static_cast<std::uint16_t>(status.code()), message,
                                          transfer.valid_end.count(), bytes, transfer.era, transfer.local.key,
                                          ahead.end.count(), ahead.time.count(), ahead.bytes.count()));
  const auto type = wire::reply_type(transfer.write ? wire::Type::write : wire::Type::read);
  // A reply that cannot be sent closes the connection; the session's own loop sees that.
  connection.send(type, transfer.frame, wire::bytes(reply_)).ignore();
}

}  // namespace tutti
