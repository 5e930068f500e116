#include "policy/request/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"order", "block", "dispatch_depth", "seed"};
constexpr std::array<std::string_view, 3> kOrders = {"hash", "first", "random"};
constexpr Bytes kBlock = 64_KiB;

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto order = parameters.choice("order", 0, kOrders);
  if (!order.ok()) return order.status();
  const auto block = parameters.bytes("block", kBlock, 4_KiB);
  if (!block.ok()) return block.status();
  const auto depth = GuardedPolicy::read_depth(parameters);
  if (!depth.ok()) return depth.status();
  const auto seed = parameters.number("seed", 1, 0, UINT64_MAX);
  if (!seed.ok()) return seed.status();
  return std::unique_ptr<RequestPolicy>(
      std::make_unique<VisitPolicy>(static_cast<VisitPolicy::Order>(*order), *block, *depth, *seed));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::visit = {"visit", kParameters, make};

std::string VisitPolicy::name() const {
  return fmt::format("visit;order={};block={};dispatch_depth={};seed={}",
                     kOrders[static_cast<std::size_t>(order_)], block_.count(), dispatch_depth(), seed_);
}

VisitPolicy::GroupName VisitPolicy::group_of(const QueuedRequest& request) {
  return {request.application, request.object, request.write};
}

void VisitPolicy::enter(Handle handle, Nanos /*now*/) {
  const QueuedRequest& asked = request(handle);
  if (handle >= places_.size()) {
    places_.resize(std::size_t{handle} + 1);
    known_.resize(std::size_t{handle} + 1);
  }
  std::uint64_t key = asked.rank;
  if (order_ == Order::random) key = random_.next();
  places_[handle] = {key, asked.id};
  const GroupName name = group_of(asked);
  Group& group = groups_[name];
  group.waiting.emplace(places_[handle], handle);
  if (!known_[handle]) ++group.members;
  known_[handle] = true;
  oldest_.emplace(asked.id, name);
}

// From step j on the ranks come in the order s - j, s - j - 1, ... with hash, and j, j + 1, ... with first.
std::map<VisitPolicy::Place, VisitPolicy::Handle>::iterator VisitPolicy::turn(Group& group) const {
  if (order_ == Order::random) return group.waiting.begin();
  if (order_ == Order::first) {
    const auto found = group.waiting.lower_bound({group.step, 0});
    return found != group.waiting.end() ? found : group.waiting.begin();
  }
  const QueuedRequest& any = request(group.waiting.begin()->second);
  const std::uint64_t ranks = std::max(any.ranks, 1U);
  const std::uint64_t wanted = (any.slot % ranks + ranks - group.step % ranks) % ranks;
  auto found = group.waiting.upper_bound({wanted, UINT64_MAX});
  if (found == group.waiting.begin()) found = group.waiting.end();
  found = std::prev(found);
  // Of one rank the oldest.
  return group.waiting.lower_bound({found->first.first, 0});
}

VisitPolicy::Choice VisitPolicy::choose(Nanos /*now*/) {
  const GroupName name = oldest_.begin()->second;
  Group& group = groups_.at(name);
  const Handle handle = turn(group)->second;
  const QueuedRequest& asked = request(handle);
  const std::uint64_t ranks = std::max(asked.ranks, 1U);
  // The step at which it was this one's turn, and one more.
  group.step =
      order_ == Order::first ? asked.rank + 1 : (asked.slot % ranks + ranks - asked.rank % ranks) % ranks + 1;
  take_out(handle);
  return Choice::dispatch(handle, block_);
}

void VisitPolicy::take_out(Handle handle) {
  const GroupName name = group_of(request(handle));
  groups_.at(name).waiting.erase(places_[handle]);
  oldest_.erase({request(handle).id, name});
}

void VisitPolicy::left(Handle handle, Nanos now) {
  take_out(handle);
  ended(handle, now);
}

void VisitPolicy::ended(Handle handle, Nanos /*now*/) {
  known_[handle] = false;
  member_gone(group_of(request(handle)));
}

void VisitPolicy::member_gone(const GroupName& name) {
  const auto found = groups_.find(name);
  if (--found->second.members == 0) groups_.erase(found);
}

}  // namespace tutti
