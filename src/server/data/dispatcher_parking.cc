// The dispatcher and clients that make no progress: see parking.h.
#include <algorithm>
#include <utility>

#include "env/combine.h"
#include "server/data/dispatcher.h"

namespace tutti {
namespace {

// Asked when a stall would be over: whether bytes have moved since it was asked last.
class HasMoved {
 public:
  explicit HasMoved(const Connection& connection) : connection_(connection), seen_(connection.moved()) {}
  bool operator()() {
    const std::uint64_t before = std::exchange(seen_, connection_.moved());
    return seen_ != before;
  }

 private:
  const Connection& connection_;
  std::uint64_t seen_;
};

}  // namespace

Task<Status> Dispatcher::pull(Turn& turn, Bytes at, Places into) {
  ClientSession& session = *turn.transfer.session;
  Connection& connection = *session.connection;
  Status status =
      co_await with_timeout(env_.clock, limits_.stall, connection.pull(turn.transfer.region, at, into),
                            "pull", HasMoved(connection));
  turn.stalled = status.code() == Code::timed_out;
  co_return status;
}

Task<Status> Dispatcher::pull_in_time(Transfer& transfer, Bytes at, Places into) {
  ClientSession& session = *transfer.session;
  Task<Status> pull = session.connection->pull(transfer.region, at, into);
  if (session.connection->moves_at_once()) co_return co_await std::move(pull);
  Status status = co_await with_timeout(env_.clock, limits_.transfer_limit, std::move(pull), "pull");
  if (status.code() == Code::timed_out) give_up(session, "send");
  co_return status;
}

Task<Status> Dispatcher::push(Transfer& transfer, ConstPlaces from, Bytes at) {
  ClientSession& session = *transfer.session;
  Connection& connection = *session.connection;
  if (session.pace.unread == 0 && !session.pace.slow(env_.clock.now())) {
    Status status =
        co_await with_timeout(env_.clock, limits_.send_stall, connection.push(from, transfer.region, at),
                              "push", HasMoved(connection));
    if (status.code() != Code::timed_out) co_return status;
    session.pace.stalled(env_.clock.now());
  }
  const Bytes length(length_of(from));
  if (!parked_bytes_.room_for_read(length))
    co_return Status(Code::busy, "too much waits for clients that do not take it: repeat");
  std::vector<std::byte> bytes;
  bytes.reserve(length.count());  // not cleared before
  for (const auto& place : from) bytes.insert(bytes.end(), place.begin(), place.end());
  parked_bytes_.add(length);
  ++session.pace.unread;
  ++transfer.tasks;
  session.task_began();
  scope_.spawn(push_parked(transfer, std::move(bytes), at));
  co_return Status();
}

Task<void> Dispatcher::push_parked(Transfer& transfer, std::vector<std::byte> bytes, Bytes at) {
  ClientSession& session = *transfer.session;
  const std::span<const std::byte> piece(bytes);
  Status status = co_await with_timeout(env_.clock, limits_.transfer_limit,
                                        session.connection->push(only(piece), transfer.region, at), "push");
  if (status.code() == Code::timed_out) give_up(session, "take");
  if (!status.ok()) transfer.fail(std::move(status));
  parked_bytes_.release(Bytes(bytes.size()));
  if (--session.pace.unread == 0) {
    for (Transfer* other : transfers_.in_state(TransferState::parked)) {
      if (other->session.get() == &session && !other->write && !other->waits_for_call) unpark(*other);
    }
  }
  pull_parked();
  leave(transfer);
  dispatch();
}

bool Dispatcher::must_park(const Transfer& transfer, Nanos now) {
  const ClientSession& session = *transfer.session;
  const Connection& connection = *session.connection;
  if (transfer.work != Work::transfer || connection.moves_at_once() || connection.closed() ||
      !transfer.status.ok()) {
    return false;
  }
  if (!transfer.write) return session.pace.unread > 0 && !transfer.inside_reply;
  const bool has_bytes = transfer.pulled ? transfer.pulled->is_set() : transfer.held.length > 0_B;
  return !has_bytes && session.pace.slow(now);
}

// The policy has just chosen it.
void Dispatcher::park(Transfer& transfer, Nanos now) {
  policy_->served(transfer.request.id, 0_B, false, now);
  policy_->drop(transfer.request.id, now);
  transfer.enter(TransferState::parked);
  --queued_;
  ++parked_;
  if (transfer.pulled) ++transfer.session->pace.late;
  if (!transfer.session->pace.pulling) pull_parked();
}

void Dispatcher::park(Turn& turn) {
  Transfer& transfer = turn.transfer;
  if (transfer.session->connection->closed()) {
    transfer.fail(Status(Code::unavailable, "the client is gone"));
    return end_task(turn);
  }
  const Nanos now = env_.clock.now();
  transfer.session->pace.stalled(now);
  if (transfer.generation == generation_) {
    policy_->served(transfer.request.id, 0_B, false, now);
    policy_->drop(transfer.request.id, now);
  }
  accounting_.returned(transfer.account, now);
  transfer.done = turn.begin;
  transfer.enter(TransferState::parked);
  --in_service_;
  ++parked_;
  ++transfer.session->queued;
  leave(transfer);
  if (transfer.pulled && transfer.pulled->is_set()) {
    unpark(transfer);  // it ended in the same moment
  } else if (transfer.pulled) {
    ++transfer.session->pace.late;
  }
  pull_parked();
  dispatch();
}

void Dispatcher::unpark(Transfer& transfer) {
  transfer.enter(TransferState::queued);
  --parked_;
  ++queued_;
  policy_->add(transfer.request, env_.clock.now());
  transfer.generation = generation_;
}

void Dispatcher::pull_parked() {
  if (parked_ == 0) return;
  for (Transfer* transfer : transfers_.in_state(TransferState::parked)) {
    Pace& pace = transfer->session->pace;
    if (!waits_for_room(*transfer)) continue;
    const Bytes length = std::min(transfer->length - transfer->done, ParkedBytes::kPiece);
    if (!parked_bytes_.room_for_write(length)) return wait_for_room();
    parked_bytes_.add(length);
    pace.pulling = true;
    transfer->held = Extent{transfer->done, length};
    transfer->inside.resize(length.count());
    ++transfer->tasks;
    transfer->session->task_began();
    scope_.spawn(pull_parked(*transfer));
  }
}

// The first whose client is no longer taken for slow decides when to look.
void Dispatcher::wait_for_room() {
  Nanos when = Nanos::max();
  for (const Transfer* transfer : transfers_.in_state(TransferState::parked)) {
    if (waits_for_room(*transfer)) when = std::min(when, transfer->session->pace.slow_until);
  }
  if (when != Nanos::max()) env_.clock.executor().arm(give_chances_, std::max(when, env_.clock.now()));
}

bool Dispatcher::waits_for_room(const Transfer& transfer) {
  return transfer.write && !transfer.pulled && !transfer.waits_for_call && !transfer.session->pace.pulling;
}

void Dispatcher::give_chances() {
  const Nanos now = env_.clock.now();
  for (Transfer* transfer : transfers_.in_state(TransferState::parked)) {
    if (waits_for_room(*transfer) && !transfer->session->pace.slow(now)) unpark(*transfer);
  }
  pull_parked();
  dispatch();
}

Task<void> Dispatcher::pull_parked(Transfer& transfer) {
  const std::span<std::byte> place(transfer.inside);
  Status status = co_await pull_in_time(transfer, transfer.held.offset, only(place));
  if (!status.ok()) transfer.fail(std::move(status));
  if (transfer.state == TransferState::parked) unpark(transfer);
  leave(transfer);
  dispatch();
}

void Dispatcher::hold(Transfer& transfer) {
  transfer.enter(TransferState::parked);
  --queued_;
  ++parked_;
  transfer.waits_for_call = true;
  release_calls();
}

// They come into the queue in the order of their bytes, as if they had arrived so.
void Dispatcher::release_calls() {
  for (Transfer* part : directed_.due(env_.clock.now())) {
    part->waits_for_call = false;
    transfers_.renumber(*part, next_id_++);
    unpark(*part);
  }
  if (directed_.empty()) {
    serve_overdue_.disarm();
  } else {
    env_.clock.executor().arm(serve_overdue_, directed_.next());
  }
  dispatch();
}

// A parked write had the turn for which its bytes were pulled, or goes.
void Dispatcher::release_held(Transfer& transfer) {
  if (transfer.held.length == 0_B) return;
  parked_bytes_.release(transfer.held.length);
  transfer.held = {};
  transfer.inside.clear();
  transfer.session->pace.pulling = false;
  pull_parked();
}

void Dispatcher::give_up(ClientSession& session, const char* what) {
  if (session.connection->closed()) return;
  env_.log.warn("{}: it did not {} its bytes for {}: connection closed", session.connection->peer().name,
                what, to_string(limits_.transfer_limit));
  session.connection->close();
}

}  // namespace tutti
