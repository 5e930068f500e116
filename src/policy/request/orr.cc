#include "policy/request/orr.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"quantum", "dispatch_depth"};

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto quantum = parameters.number("quantum", OrrPolicy::kDefaultQuantum, 1, 65535);
  if (!quantum.ok()) return quantum.status();
  const auto depth = GuardedPolicy::read_depth(parameters);
  if (!depth.ok()) return depth.status();
  return std::unique_ptr<RequestPolicy>(std::make_unique<OrrPolicy>(*quantum, *depth));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::orr = {"orr", kParameters, make};

std::string OrrPolicy::name() const {
  return fmt::format("orr;quantum={};dispatch_depth={}", quantum_, dispatch_depth());
}

void OrrPolicy::enter(Handle handle, Nanos /*now*/) {
  const QueuedRequest& entered = request(handle);
  Batches& batches = slots_[slot_of(entered.object)];
  if (batches.room == 0 || batches.round < round_ || batches.in_line == 0) begin_batch(batches);
  if (handle >= rank_.size()) rank_.resize(std::size_t{handle} + 1);
  rank_[handle] = {batches.round, batches.sequence, entered.offset, entered.end, entered.id};
  line_.push(handle, rank_[handle]);
  ++batches.in_line;
  ++batches.here;
  if (--batches.room == 0) ++batches.round;
}

// A batch that was not filled when its object had nothing left in line is over: the object waits for its next round.
void OrrPolicy::begin_batch(Batches& batches) {
  if (batches.in_line == 0 && batches.room > 0) ++batches.round;
  batches.round = std::max(batches.round, round_);
  if (batches.sequence < sequence_) batches.sequence = ++sequence_;
  batches.room = quantum_;
}

OrrPolicy::Choice OrrPolicy::choose(Nanos /*now*/) {
  const Handle handle = line_.top();
  leave_line(handle);
  return Choice::dispatch(handle);
}

void OrrPolicy::left(Handle handle, Nanos now) {
  leave_line(handle);
  ended(handle, now);
}

// The round that is served is that of the request that is now first.
void OrrPolicy::leave_line(Handle handle) {
  const bool first = line_.top() == handle;
  line_.erase(handle);
  --slots_[by_object_.find(request(handle).object)].in_line;
  if (!first) return;
  round_ = line_.empty() ? round_ + 1 : std::max(round_, rank_[line_.top()].round);
}

void OrrPolicy::ended(Handle handle, Nanos /*now*/) {
  const std::uint64_t object = request(handle).object;
  const std::uint32_t slot = by_object_.find(object);
  if (--slots_[slot].here > 0) return;
  by_object_.erase(object);
  free_slots_.push_back(slot);
}

std::uint32_t OrrPolicy::slot_of(std::uint64_t object) {
  const std::uint32_t known = by_object_.find(object);
  if (known != by_object_.kNone) return known;
  auto slot = static_cast<std::uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot] = Batches();
  slots_[slot].object = object;
  by_object_.insert(object, slot);
  return slot;
}

}  // namespace tutti
