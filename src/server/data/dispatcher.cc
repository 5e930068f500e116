#include "server/data/dispatcher.h"

#include <algorithm>

namespace tutti {
namespace {

// The client's memory as the source of a write. `base` is where the extent begins in the region.
class PullSource : public Source {
 public:
  PullSource(SessionLink& session, const Region& region, Bytes base)
      : session_(session), region_(region), base_(base) {}
  Task<Status> fill(Bytes at, std::span<std::byte> place) override {
    return session_.connection->pull(region_, base_ + at, place);
  }

 private:
  SessionLink& session_;
  const Region& region_;
  Bytes base_;
};

// Small enough to be pulled early, and how much of it in all.
constexpr Bytes kEarlyPull = 16_KiB;
constexpr Bytes kMostPulledEarly = 16_MiB;
// How long a grant holds: a change of policy, or of rights, is felt after that at the latest.
constexpr Nanos kGrantTime = 100_ms;
// How many grants a session may have taken and not told.
constexpr std::uint64_t kMostGrants = 64;

}  // namespace

// The client's memory as the sink of a read, `base` where the extent begins in the region. Taking the last byte of the
// turn ends it.
class Dispatcher::PushSink : public Sink {
 public:
  PushSink(Dispatcher& dispatcher, Turn& turn, Bytes base)
      : dispatcher_(dispatcher), turn_(turn), base_(base) {}
  Task<Status> take(Bytes at, std::span<const std::byte> piece) override {
    if (base_ + at + Bytes(piece.size()) == turn_.end) dispatcher_.end_turn(turn_);
    return turn_.transfer.session->connection->push(piece, turn_.transfer.region, base_ + at);
  }

 private:
  Dispatcher& dispatcher_;
  Turn& turn_;
  Bytes base_;
};

Dispatcher::Dispatcher(const Env& env, Store& store, std::unique_ptr<RequestPolicy> policy,
                       std::uint64_t boot, Bytes read_grant)
    : env_(env),
      store_(store),
      policy_(std::move(policy)),
      boot_(boot),
      read_grant_(read_grant),
      statistics_(env.clock.executor(), store),
      rate_(env.clock.now()),
      reply_(1024),
      ask_again_(*this),
      scope_(env.clock.executor()) {}

void Dispatcher::add(std::unique_ptr<Transfer> transfer, const wire::Tag& tag, Nanos request_time,
                     Nanos arrival) {
  QueuedRequest& request = transfer->request;
  request.id = next_id_++;
  request.application = tag.application();
  request.request_time = request_time;
  request.arrival = arrival;
  request.client = tag.client();
  request.sequence = tag.sequence();
  request.object = transfer->object.value;
  request.offset = transfer->extents.front().offset;
  for (const Extent& extent : transfer->extents) {
    request.offset = std::min(request.offset, extent.offset);
    request.end = std::max(request.end, extent.end());
  }
  request.length = transfer->length;
  request.write = transfer->write;
  request.in_memory = store_.in_memory();
  request.bottleneck = Bytes(tag.bottleneck());
  Transfer& added = *transfer;
  SessionLink& session = *added.session;
  ++session.queued;
  ++queued_;
  const Nanos now = env_.clock.now();
  added.account = accounting_.arrived(request.application, session.program, session.job, now);
  added.generation = generation_;
  memory_ += added.memory();
  transfers_.emplace(request.id, std::move(transfer));
  statistics_.arrived();
  policy_->add(request, now);
  dispatch();
  // Also while the way to its bytes is asked for.
  if (added.write && added.done == 0_B && added.length <= kEarlyPull &&
      early_ + added.length <= kMostPulledEarly) {
    early_ += added.length;
    added.inside.resize(added.length.count());
    added.pulled = std::make_unique<Event>(env_.clock.executor());
    ++added.at_work;
    if (added.session->in_service++ == 0) added.session->drained.reset();
    scope_.spawn(pull_early(added));
  }
}

Task<void> Dispatcher::pull_early(Transfer& transfer) {
  const Status status = co_await transfer.session->connection->pull(transfer.region, 0_B, transfer.inside);
  if (!status.ok() && transfer.status.ok()) transfer.status = status;
  transfer.pulled->set();
  leave(transfer);
}

void Dispatcher::change_policy(std::unique_ptr<RequestPolicy> policy) {
  std::vector<std::uint64_t> queued;
  for (const auto& [id, transfer] : transfers_) {
    if (transfer->in_store == 0 && !transfer->finished) queued.push_back(id);
  }
  std::sort(queued.begin(), queued.end());
  policy_ = std::move(policy);
  ++generation_;
  ask_again_.disarm();
  const Nanos now = env_.clock.now();
  if (advice_ && advice_->expiry > now) policy_->advise(*advice_, now);
  for (const std::uint64_t id : queued) {
    Transfer& transfer = *transfers_.at(id);
    policy_->add(transfer.request, now);
    transfer.generation = generation_;
  }
  dispatch();
}

void Dispatcher::advise(Advice advice) {
  advice_ = std::move(advice);
  policy_->advise(*advice_, env_.clock.now());
  dispatch();
}

void Dispatcher::drop(const SessionLink& session) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, transfer] : transfers_) {
    if (transfer->session.get() == &session) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  const Nanos now = env_.clock.now();
  for (const std::uint64_t id : ids) {
    const auto found = transfers_.find(id);
    Transfer& transfer = *found->second;
    if (transfer.in_store > 0 || transfer.finished) continue;
    --transfer.session->queued;
    --queued_;
    transfer.finished = transfer.dropped = true;
    accounting_.dropped(transfer.account, now);
    policy_->drop(id, now);
    if (transfer.at_work == 0) forget(transfer);
  }
  dispatch();
}

void Dispatcher::dispatch() {
  while (sending_ < kSending) {
    const Nanos now = env_.clock.now();
    const Decision decision = policy_->next(now);
    if (decision.kind == Decision::Kind::idle) return;
    if (decision.kind == Decision::Kind::wait) {
      env_.clock.executor().arm(ask_again_, decision.until);
      return;
    }
    Transfer& transfer = *transfers_.at(decision.id);
    if (transfer.in_store++ == 0) {
      --transfer.session->queued;
      --queued_;
    }
    const bool cold = !transfer.warmed && store_.cold(transfer.object);
    transfer.warmed = true;
    const Bytes quantum = cold ? 0_B : std::min(decision.quantum, transfer.length - transfer.done);
    const Turn turn{transfer, transfer.done, transfer.done + quantum};
    transfer.done = turn.end;
    if (transfer.session->in_service++ == 0) transfer.session->drained.reset();
    ++in_service_;
    ++transfer.at_work;
    accounting_.started(transfer.account, now);
    scope_.spawn(cold ? find(turn) : serve(turn));
  }
}

Task<void> Dispatcher::serve(Turn turn) {
  Transfer& transfer = turn.transfer;
  if (transfer.pulled) co_await transfer.pulled->wait();
  if (transfer.take != 0 && turn.begin == 0_B) grant(transfer);
  if (transfer.inside_reply) transfer.inside.resize(transfer.length.count());
  Status status = transfer.status;
  Bytes at;  // of the extent, in the region
  for (const Extent& extent : transfer.extents) {
    const Bytes from = std::max(at, turn.begin);
    const Bytes to = std::min(at + extent.length, turn.end);
    if (status.ok() && from < to && transfer.taken == 0) {
      status = co_await move(turn, Extent{extent.offset + (from - at), to - from}, from);
    }
    at += extent.length;
  }
  if (!status.ok() && transfer.status.ok()) transfer.status = std::move(status);
  end(turn);
}

Task<void> Dispatcher::find(Turn turn) {
  co_await store_.warm(turn.transfer.object);
  end(turn);
}

// Its task is at its end.
void Dispatcher::end(Turn& turn) {
  if (!turn.over) end_turn(turn);
  --sending_;
  leave(turn.transfer);
  dispatch();
}

// The store is done with the turn; the network may not be.
void Dispatcher::end_turn(Turn& turn) {
  Transfer& transfer = turn.transfer;
  turn.over = true;
  ++sending_;
  --in_service_;
  --transfer.in_store;
  const bool gone = transfer.session->connection->closed();
  transfer.finished =
      transfer.in_store == 0 && (gone || !transfer.status.ok() || transfer.done == transfer.length);
  const Nanos now = env_.clock.now();
  const bool ours = transfer.generation == generation_;
  if (ours) policy_->served(transfer.request.id, turn.end - turn.begin, transfer.finished, now);
  if (transfer.finished) {
    // Now, not with the reply: the account may go to another application when it has nothing here.
    if (!gone && transfer.status.ok()) accounting_.count(transfer.account, transfer.write, transfer.length);
    accounting_.ended(transfer.account, now);
    statistics_.served(transfer.request.application, transfer.object, transfer.extents.front().offset,
                       transfer.extents.back().end());
    rate_.note(now);
  } else if (transfer.in_store == 0) {
    if (!ours) policy_->add(transfer.request, now);
    transfer.generation = generation_;
    accounting_.returned(transfer.account, now);
    ++transfer.session->queued;
    ++queued_;
  }
  dispatch();
}

// A task is done with the transfer; the last one after its last turn answers and forgets it.
void Dispatcher::leave(Transfer& transfer) {
  SessionLink& session = *transfer.session;
  if (--session.in_service == 0) session.drained.set();
  if (--transfer.at_work > 0 || !transfer.finished) return;
  if (!transfer.dropped) reply(transfer);
  forget(transfer);
}

void Dispatcher::forget(Transfer& transfer) {
  if (transfer.pulled) early_ -= transfer.length;
  memory_ -= transfer.memory();
  transfers_.erase(transfer.request.id);
}

void Dispatcher::grant(Transfer& transfer) {
  const SharedObject shared = store_.share(transfer.object);
  if (shared.file == nullptr) return;
  if (shared.key != transfer.take && !transfer.session->connection->give(shared.key, *shared.file)) return;
  transfer.taken = shared.key;
  transfer.shared_length = shared.length;
  for (const Extent& extent : transfer.extents) {
    if (extent.end() > shared.length) transfer.valid_end = shared.length;
  }
}

Bytes Dispatcher::grant_ahead(const Transfer& transfer) const {
  if (transfer.taken == 0 || transfer.extents.size() > 1 || queued_ + in_service_ > 0) return 0_B;
  const Bytes end = transfer.extents.front().end();
  const Bytes granted = std::min(end + std::min(transfer.ahead, read_grant_), transfer.shared_length);
  return granted > end ? granted : 0_B;
}

void Dispatcher::took(SessionLink& session, std::uint64_t application, const wire::Took& took) {
  const Bytes bytes = std::min(Bytes(took.bytes()), session.granted);
  const std::uint64_t reads = std::min(took.reads(), bytes.count());
  if (reads == 0) return;
  session.granted -= bytes;
  const Nanos now = env_.clock.now();
  const Accounting::Slot slot = accounting_.arrived(application, session.program, session.job, now);
  accounting_.count(slot, false, bytes, reads);
  accounting_.dropped(slot, now);
  rate_.note(now, reads);
  totals_.reads += reads;
  totals_.bytes_read += bytes;
}

// Moves one extent of the turn between the store and the client; it begins at `at` in the region.
Task<Status> Dispatcher::move(Turn& turn, Extent extent, Bytes at) {
  Transfer& transfer = turn.transfer;
  SessionLink& session = *transfer.session;
  // A client that is gone may use its memory for something else by now.
  if (session.connection->closed()) co_return Status(Code::unavailable, "the client is gone");
  if (transfer.pulled) {
    MemorySource source(std::span(transfer.inside).subspan(at.count(), extent.length.count()));
    co_return co_await store_.write(transfer.object, extent.offset, extent.length, source);
  }
  if (transfer.write) {
    PullSource source(session, transfer.region, at);
    co_return co_await store_.write(transfer.object, extent.offset, extent.length, source);
  }
  Bytes got;
  if (transfer.inside_reply) {
    MemorySink sink(std::span(transfer.inside).subspan(at.count(), extent.length.count()));
    auto read = co_await store_.read(transfer.object, extent.offset, extent.length, sink);
    if (!read.ok()) co_return read.status();
    got = *read;
  } else {
    PushSink sink(*this, turn, at);
    auto read = co_await store_.read(transfer.object, extent.offset, extent.length, sink);
    if (!read.ok()) co_return read.status();
    got = *read;
  }
  if (got < extent.length) transfer.valid_end = std::min(transfer.valid_end, extent.offset + got);
  co_return Status();
}

void Dispatcher::reply(Transfer& transfer) {
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
  const Bytes granted_end = status.ok() ? grant_ahead(transfer) : 0_B;
  if (granted_end > 0_B) {
    Bytes& granted = transfer.session->granted;
    granted = std::min(granted + (granted_end - transfer.extents.front().end()), read_grant_ * kMostGrants);
  }
  reply_.Finish(wire::CreateTransferReply(reply_, static_cast<std::uint16_t>(status.code()), message,
                                          transfer.valid_end.count(), bytes, boot_, transfer.taken,
                                          granted_end.count(), granted_end > 0_B ? kGrantTime.count() : 0));
  const auto type = wire::reply_type(transfer.write ? wire::Type::write : wire::Type::read);
  // A reply that cannot be sent closes the connection; the session's own loop sees that.
  connection.send(type, transfer.frame, wire::bytes(reply_)).ignore();
}

}  // namespace tutti
