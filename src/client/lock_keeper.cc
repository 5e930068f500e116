#include "client/lock_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kShortestLease = 1_s;
constexpr Nanos kReclaimPatience = 60_s;

Task<Status> wait(Event& event) {
  co_await event.wait();
  co_return Status();
}

Task<Result<Channel::Reply>> unlock(Channel& channel, std::uint64_t number) {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateUnlockRequest(builder, number));
  co_return co_await channel.call(wire::request_type(wire::Type::unlock), wire::bytes(builder));
}

}  // namespace

// A request that is destroyed before it has an answer may be granted all the same.
struct LockKeeper::Ask {
  Ask(LockKeeper& keeper, std::uint64_t number) : keeper(keeper), number(number) {}
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;
  ~Ask() {
    if (channel) keeper.scope_.spawn(keeper.forget(channel, number));
  }
  LockKeeper& keeper;
  std::uint64_t number;
  std::shared_ptr<Channel> channel;  // while the answer is out
};

LockKeeper::LockKeeper(const Env& env, ServerLink& meta)
    : env_(env), meta_(meta), scope_(env.clock.executor()) {}

Task<Result<std::uint64_t>> LockKeeper::acquire(wire::Capability capability, Extent range, bool exclusive,
                                                Nanos patience) {
  const std::uint64_t number = ++next_;
  Lock lock{capability, range, exclusive, false, nullptr};
  TUTTI_CO_TRY(co_await ask(lock, number, false, patience));
  held_.emplace(number, std::move(lock));
  start_keeping();
  co_return number;
}

// Asks until there is an answer, and notes the channel on which it came.
Task<Status> LockKeeper::ask(Lock& lock, std::uint64_t number, bool reclaim, Nanos patience) {
  const Nanos since = env_.clock.now();
  const Nanos deadline = since + std::min(patience, Nanos::max() - since);
  Ask pending(*this, number);
  Nanos backoff;
  for (;;) {
    auto channel = co_await meta_.ready(since);
    if (!channel.ok()) co_return channel.status();
    const Nanos left = deadline - env_.clock.now();
    if (left <= 0_s) co_return Status(Code::timed_out, "not granted within " + to_string(patience));
    flatbuffers::FlatBufferBuilder builder(256);
    builder.Finish(wire::CreateLockRequest(builder, &lock.capability, number, lock.range.offset.count(),
                                           lock.range.length.count(), lock.exclusive, reclaim, left.count()));
    if (!reclaim) pending.channel = *channel;  // what keep() began nobody gives up
    auto reply = co_await (*channel)->call(wire::request_type(wire::Type::lock), wire::bytes(builder));
    pending.channel.reset();
    Status failure = reply.status();
    if (reply.ok()) {
      meta_.heard();
      const auto* message = wire::parse<wire::LockReply>(reply->payload);
      if (message == nullptr) co_return Status(Code::malformed, "the reply to a lock request does not parse");
      failure = wire::status_of(*message);
      if (failure.ok()) {
        lock.channel = *channel;
        lease_ = std::max(kShortestLease, Nanos(message->lease()));
        co_return Status();
      }
    }
    if (failure.code() != Code::unavailable && failure.code() != Code::busy) co_return failure;
    TUTTI_CO_TRY(co_await meta_.pause(since, failure, backoff));
  }
}

Task<Status> LockKeeper::release(std::uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end()) co_return Status(Code::invalid, fmt::format("there is no lock {}", number));
  const Lock lock = std::move(found->second);
  held_.erase(found);
  const Status lost(Code::stale, "the lock was lost meanwhile: others may have changed what it protected");
  if (lock.lost) co_return lost;
  auto reply = co_await unlock(*lock.channel, number);
  // With the connection the lock is gone: that is what was asked for.
  if (!reply.ok()) co_return Status();
  meta_.heard();
  const auto* message = wire::parse<wire::StatusReply>(reply->payload);
  if (message == nullptr) co_return Status(Code::malformed, "the reply to an unlock request does not parse");
  const Status status = wire::status_of(*message);
  co_return status.code() == Code::not_found ? lost : status;
}

Task<void> LockKeeper::forget(std::shared_ptr<Channel> channel, std::uint64_t number) {
  (co_await unlock(*channel, number)).status().ignore();
}

void LockKeeper::start_keeping() {
  if (keeping_) return;
  keeping_ = true;
  scope_.spawn(keep());
}

// Runs while there are locks.
Task<void> LockKeeper::keep() {
  while (!held_.empty()) {
    std::shared_ptr<Channel> channel;
    std::vector<std::uint64_t> orphans;
    for (const auto& [number, lock] : held_) {
      if (lock.lost) continue;
      if (lock.channel->closed()) {
        orphans.push_back(number);
      } else {
        channel = lock.channel;
      }
    }
    for (const std::uint64_t number : orphans) co_await reclaim(number);
    if (!orphans.empty()) continue;
    if (!channel) break;  // all are lost
    const Status ended = co_await with_timeout(env_.clock, lease_ / 3, wait(channel->ended()), "waiting");
    if (ended.ok() || channel->closed()) continue;
    flatbuffers::FlatBufferBuilder builder(64);
    builder.Finish(wire::CreateStatusRequest(builder));
    (co_await channel->call(wire::request_type(wire::Type::status), wire::bytes(builder))).status().ignore();
  }
  keeping_ = false;
}

Task<void> LockKeeper::reclaim(std::uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end()) co_return;
  Lock again = found->second;
  const Status status = co_await ask(again, number, true, kReclaimPatience);
  const auto now = held_.find(number);
  if (now == held_.end()) {
    if (status.ok()) co_await forget(again.channel, number);  // released meanwhile
    co_return;
  }
  if (status.ok()) {
    now->second = std::move(again);
    co_return;
  }
  now->second.lost = true;
  env_.log.warn("a lock was lost with the connection to the metadata server: {}", status.to_string());
}

}  // namespace tutti
