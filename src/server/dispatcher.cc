#include "server/dispatcher.h"

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

// The client's memory as the sink of a read.
class PushSink : public Sink {
 public:
  PushSink(SessionLink& session, const Region& region, Bytes base)
      : session_(session), region_(region), base_(base) {}
  Task<Status> take(Bytes at, std::span<const std::byte> piece) override {
    return session_.connection->push(piece, region_, base_ + at);
  }

 private:
  SessionLink& session_;
  const Region& region_;
  Bytes base_;
};

}  // namespace

Dispatcher::Dispatcher(const Env& env, Store& store, std::unique_ptr<RequestPolicy> policy,
                       std::uint64_t boot)
    : env_(env),
      store_(store),
      policy_(std::move(policy)),
      boot_(boot),
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
  request.length = transfer->length;
  request.write = transfer->write;
  request.bottleneck = Bytes(tag.bottleneck());
  SessionLink& session = *transfer->session;
  ++session.queued;
  const Nanos now = env_.clock.now();
  transfer->account = accounting_.arrived(request.application, session.program, session.job, now);
  policy_->add(request, now);
  transfer->generation = generation_;
  memory_ += transfer->memory();
  transfers_.emplace(request.id, std::move(transfer));
  dispatch();
}

void Dispatcher::change_policy(std::unique_ptr<RequestPolicy> policy) {
  std::vector<std::uint64_t> queued;
  for (const auto& [id, transfer] : transfers_) {
    if (!transfer->serving) queued.push_back(id);
  }
  std::sort(queued.begin(), queued.end());
  policy_ = std::move(policy);
  ++generation_;
  ask_again_.disarm();
  const Nanos now = env_.clock.now();
  for (const std::uint64_t id : queued) {
    Transfer& transfer = *transfers_.at(id);
    policy_->add(transfer.request, now);
    transfer.generation = generation_;
  }
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
    if (found->second->serving) continue;
    --found->second->session->queued;
    accounting_.dropped(found->second->account, now);
    policy_->drop(id, now);
    forget(id);
  }
  dispatch();
}

void Dispatcher::forget(std::uint64_t id) {
  const auto found = transfers_.find(id);
  memory_ -= found->second->memory();
  transfers_.erase(found);
}

void Dispatcher::dispatch() {
  for (;;) {
    const Nanos now = env_.clock.now();
    const Decision decision = policy_->next(now);
    if (decision.kind == Decision::Kind::idle) return;
    if (decision.kind == Decision::Kind::wait) {
      env_.clock.executor().arm(ask_again_, decision.until);
      return;
    }
    Transfer& transfer = *transfers_.at(decision.id);
    transfer.serving = true;
    --transfer.session->queued;
    if (transfer.session->in_service++ == 0) transfer.session->drained.reset();
    ++in_service_;
    accounting_.started(transfer.account, now);
    scope_.spawn(serve(transfer, decision.quantum));
  }
}

// Serves up to `quantum` bytes of the transfer, beginning where the last quantum ended.
Task<void> Dispatcher::serve(Transfer& transfer, Bytes quantum) {
  if (transfer.inside_reply) transfer.inside.resize(transfer.length.count());
  Status status;
  Bytes skip = transfer.done;
  Bytes served;
  for (const Extent& extent : transfer.extents) {
    if (skip >= extent.length) {
      skip -= extent.length;
      continue;
    }
    const Bytes length = std::min(extent.length - skip, quantum - served);
    if (length == 0_B) break;
    status = co_await move(transfer, Extent{extent.offset + skip, length});
    if (!status.ok()) break;
    skip = 0_B;
    served += length;
    transfer.done += length;
  }

  const std::uint64_t id = transfer.request.id;
  const bool finished = !status.ok() || transfer.done == transfer.length;
  --in_service_;
  transfer.serving = false;
  SessionLink& session = *transfer.session;
  if (--session.in_service == 0) session.drained.set();
  const Nanos now = env_.clock.now();
  const bool ours = transfer.generation == generation_;
  if (ours) policy_->served(id, served, finished, now);
  if (finished) {
    accounting_.ended(transfer.account, now);
    rate_.note(now);
    finish(transfer, status);
    forget(id);
  } else if (session.connection->closed()) {
    accounting_.ended(transfer.account, now);
    if (ours) policy_->drop(id, now);
    forget(id);
  } else {
    if (!ours) policy_->add(transfer.request, now);
    transfer.generation = generation_;
    accounting_.returned(transfer.account, now);
    ++session.queued;
  }
  dispatch();
}

// Moves one extent between the store and the client; it begins at transfer.done in the region.
Task<Status> Dispatcher::move(Transfer& transfer, Extent extent) {
  SessionLink& session = *transfer.session;
  // A client that is gone may use its memory for something else by now.
  if (session.connection->closed()) co_return Status(Code::unavailable, "the client is gone");
  if (transfer.write) {
    PullSource source(session, transfer.region, transfer.done);
    co_return co_await store_.write(transfer.object, extent.offset, extent.length, source);
  }
  Bytes got;
  if (transfer.inside_reply) {
    MemorySink sink(std::span(transfer.inside).subspan(transfer.done.count(), extent.length.count()));
    auto read = co_await store_.read(transfer.object, extent.offset, extent.length, sink);
    if (!read.ok()) co_return read.status();
    got = *read;
  } else {
    PushSink sink(session, transfer.region, transfer.done);
    auto read = co_await store_.read(transfer.object, extent.offset, extent.length, sink);
    if (!read.ok()) co_return read.status();
    got = *read;
  }
  if (got < extent.length) transfer.valid_end = std::min(transfer.valid_end, extent.offset + got);
  co_return Status();
}

void Dispatcher::finish(Transfer& transfer, const Status& status) {
  if (status.ok()) {
    ++(transfer.write ? totals_.writes : totals_.reads);
    (transfer.write ? totals_.bytes_written : totals_.bytes_read) += transfer.length;
    accounting_.count(transfer.account, transfer.write, transfer.length);
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
  reply_.Finish(wire::CreateTransferReply(reply_, static_cast<std::uint16_t>(status.code()), message,
                                          transfer.valid_end.count(), bytes, boot_));
  const auto type = wire::reply_type(transfer.write ? wire::Type::write : wire::Type::read);
  // A reply that cannot be sent closes the connection; the session's own loop sees that.
  connection.send(type, transfer.frame, wire::bytes(reply_)).ignore();
}

}  // namespace tutti
