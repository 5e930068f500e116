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

Status lost_lock() {
  return {Code::stale, "the lock was lost meanwhile: others may have changed what it protected"};
}

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

// Asks for a lock, and notes in it the channel on which it was granted.
class LockKeeper::LockRequest {
 public:
  LockRequest(LockKeeper& keeper, Lock& lock, CapabilityHolder& holder, std::uint64_t number, bool reclaim,
              Nanos patience)
      : keeper_(keeper),
        lock_(lock),
        holder_(holder),
        number_(number),
        reclaim_(reclaim),
        patience_(patience) {
    ++keeper.asking_;
    const Nanos now = keeper.env_.clock.now();
    deadline_ = now + std::min(patience, Nanos::max() - now);
  }
  LockRequest(const LockRequest&) = delete;
  LockRequest& operator=(const LockRequest&) = delete;
  // A request that is destroyed before it has an answer may be granted all the same.
  ~LockRequest() {
    --keeper_.asking_;
    if (asked_on_) keeper_.scope_.spawn(keeper_.forget(asked_on_, number_));
  }

  [[nodiscard]] std::uint16_t type() const { return wire::request_type(wire::Type::lock); }
  Result<std::span<const std::byte>> message(flatbuffers::FlatBufferBuilder& builder,
                                             const std::shared_ptr<Channel>& channel) {
    const Nanos left = deadline_ - keeper_.env_.clock.now();
    if (left <= 0_s) return Status(Code::timed_out, "not granted within " + to_string(patience_));
    shown_ = holder_.version();
    builder.Finish(wire::CreateLockRequest(builder, &holder_.capability(), number_,
                                           lock_.range.offset.count(), lock_.range.length.count(),
                                           lock_.exclusive, reclaim_, left.count(), lock_.epoch));
    if (!reclaim_) asked_on_ = channel;  // what keep() began nobody gives up
    return wire::bytes(builder);
  }
  Answer ended(Result<Channel::Reply>& reply, const std::shared_ptr<Channel>& channel, Nanos /*asked*/) {
    asked_on_.reset();
    if (!reply.ok()) return answer_of(reply.status());
    const auto* message = wire::parse<wire::LockReply>(reply->payload);
    if (message == nullptr) return {keeper_.meta_.malformed()};
    Status status = wire::status_of(*message);
    if (status.ok()) {
      lock_.channel = channel;
      lock_.capability = holder_.capability();
      lock_.epoch = message->epoch();
      if (message->lost() != nullptr && wire::aligned(message->lost())) {
        for (const wire::LostLock* lost : *message->lost()) granted_.lost.push_back(*lost);
      }
      granted_.lost_epoch = message->lost_epoch();
      if (message->proof() != nullptr) granted_.proof = *message->proof();
      keeper_.lease_ = std::max(kShortestLease, Nanos(message->lease()));
    }
    return answer_of(std::move(status));
  }
  Task<Status> renew() { return holder_.renew(shown_); }
  [[nodiscard]] Granted& granted() { return granted_; }

 private:
  LockKeeper& keeper_;
  Lock& lock_;
  CapabilityHolder& holder_;
  std::uint64_t number_;
  bool reclaim_;
  Nanos patience_;
  Nanos deadline_;
  Granted granted_;
  std::uint64_t shown_ = 0;            // the version of the capability in the last attempt
  std::shared_ptr<Channel> asked_on_;  // while the answer is out
};

LockKeeper::LockKeeper(const Env& env, ServerSession& meta)
    : env_(env), meta_(meta), scope_(env.clock.executor()) {}

Task<Result<LockKeeper::Granted>> LockKeeper::acquire(CapabilityHolder& capability, Extent range,
                                                      bool exclusive, Nanos patience) {
  const std::uint64_t number = ++next_;
  Lock lock{capability.capability(), range, exclusive, false, 0, nullptr, env_.clock.now()};
  LockRequest request(*this, lock, capability, number, false, patience);
  TUTTI_CO_TRY(co_await meta_.ask(request));
  held_.emplace(number, std::move(lock));
  start_keeping();
  request.granted().number = number;
  co_return std::move(request.granted());
}

Result<wire::Lock> LockKeeper::covering(std::uint64_t file, std::span<const Extent> extents) const {
  for (const auto& [number, lock] : held_) {
    if (lock.capability.file() != file) continue;
    const auto touches = [&range = lock.range](const Extent& extent) {
      return extent.offset < range.end() && range.offset < extent.end();
    };
    if (std::none_of(extents.begin(), extents.end(), touches)) continue;
    if (lock.lost) return lost_lock();
    return wire::Lock(number, lock.epoch);
  }
  return wire::Lock();
}

bool LockKeeper::held_since(std::uint64_t number, Nanos time) const {
  const auto found = held_.find(number);
  return found == held_.end() || (!found->second.lost && found->second.asked >= time);
}

void LockKeeper::lose(std::uint64_t number) {
  const auto found = held_.find(number);
  if (found != held_.end()) found->second.lost = true;
}

Task<Status> LockKeeper::release(std::uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end()) co_return Status(Code::invalid, fmt::format("there is no lock {}", number));
  const Lock lock = std::move(found->second);
  held_.erase(found);
  const Status lost = lost_lock();
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

Task<Status> LockKeeper::confirm(std::uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end()) co_return Status();
  const Status lost = lost_lock();
  if (found->second.lost) co_return lost;
  Lock again = found->second;
  again.asked = env_.clock.now();
  CapabilityHolder capability(env_.clock.executor(), again.capability);
  LockRequest request(*this, again, capability, number, true, kReclaimPatience);
  const Status status = co_await meta_.ask(request);
  const auto now = held_.find(number);
  if (now == held_.end()) {
    if (status.ok()) co_await forget(again.channel, number);  // released meanwhile
    co_return Status();
  }
  if (status.ok() && !now->second.lost) now->second = std::move(again);
  if (status.code() == Code::timed_out || status.code() == Code::unavailable) co_return status;
  if (!status.ok() && !std::exchange(now->second.lost, true))
    env_.log.warn("a lock was lost: {}", status.to_string());
  co_return now->second.lost ? lost : Status();
}

// With the connection goes the lock, unless it can be had again.
Task<void> LockKeeper::reclaim(std::uint64_t number) {
  const Status status = co_await confirm(number);
  const auto found = held_.find(number);
  if (!status.ok() && found != held_.end()) found->second.lost = true;
}

}  // namespace tutti
