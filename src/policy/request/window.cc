#include "policy/request/window.h"

#include <algorithm>
#include <cassert>

#include "policy/request/registry.h"

namespace tutti {
namespace {

// A tag is the client's word; a sum of tags must not wrap.
constexpr std::uint64_t kLargestLoad = std::uint64_t{1} << 48U;

WindowGrid make_grid(const WindowOptions& options) {
  if (!options.adaptive) return WindowGrid(options.interval);
  return {options.interval, options.min_interval, options.max_interval, options.rounds};
}

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto options = read_window_options(parameters);
  if (!options.ok()) return options.status();
  return std::unique_ptr<RequestPolicy>(std::make_unique<WindowPolicy>(*options));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::window = {"window", kWindowParameters, make};

WindowPolicy::WindowPolicy(const WindowOptions& options) : options_(options), grid_(make_grid(options)) {}

PolicyCounters WindowPolicy::counters() const {
  PolicyCounters counters = counters_;
  counters.interval = grid_.interval();
  return counters;
}

void WindowPolicy::add(const QueuedRequest& request, Nanos now) {
  measure(now);
  if (application_ != 0 && application_ != request.application) others_ = now;
  application_ = request.application;
  const Lane lane = group_of(request);
  const bool swept = options_.within == WindowOptions::Within::offset;
  lanes_.push(lane, request.id, swept ? Sweeps::Place{request.object, request.offset} : Sweeps::Place(),
              Sweeps::claim_of(request));
  Group& group = groups_[lane];
  add_load(group, request);
  const WindowRank before = group.rank;
  group.rank = rank_of(group);
  if (options_.order == WindowOptions::Order::classes)
    loads_.set(group.before.place, group.window.start, group.load, group.rank.window);
  unblock(lane);  // another one may be its head now
  if (heads_.contains(lane)) {
    if (group.rank != before) heads_.update(lane, group.rank);
  } else {
    heads_.push(lane, group.rank);
  }
  note_crossovers(group.rank);
}

Decision WindowPolicy::next(Nanos now) {
  if (in_service_.size() >= options_.dispatch_depth) return Decision::idle();
  while (!heads_.empty()) {
    const Lane lane = heads_.top();
    if (conflicts(lane)) {
      block(lane);
      continue;
    }
    return fits(lane, now) ? start(lane, now) : Decision::idle();
  }
  return Decision::idle();
}

bool WindowPolicy::conflicts(Lane lane) const {
  const Sweeps::Claim& claim = lanes_.claim_of_head(lane);
  return std::any_of(in_service_.begin(), in_service_.end(),
                     [&](const InService& each) { return each.claim.conflicts(claim); });
}

bool WindowPolicy::fits(Lane lane, Nanos now) const {
  const bool write = lanes_.claim_of_head(lane).write;
  if (in_service_.empty()) return true;
  if (options_.apart(write)) return in_flight_ < options_.write_budget;
  return in_flight_ <
         (alone(now) ? std::max(options_.budget, rate_.in(options_.budget_time)) : options_.budget);
}

Bytes WindowPolicy::turn_of(bool write, Nanos now) const {
  if (options_.apart(write)) return options_.write_budget;
  if (write || !alone(now)) return options_.quantum;
  return std::max(options_.quantum, rate_.in(options_.quantum_time));
}

Decision WindowPolicy::start(Lane lane, Nanos now) {
  const Sweeps::Claim claim = lanes_.claim_of_head(lane);
  const std::uint64_t id = lanes_.take(lane);
  const Bytes quantum = turn_of(claim.write, now);
  if (!claim.write) rate_.began(now);
  const Bytes bytes = claim.length > options_.small ? std::min(quantum, claim.left) : Bytes();
  in_service_.push_back({id, lane, groups_[lane].rank, claim, bytes, false});
  in_flight_ += bytes;
  if (lanes_.empty(lane)) heads_.erase(lane);
  ++counters_.dispatches;
  return Decision::dispatch(id, quantum);
}

WindowPolicy::Lane WindowPolicy::end_service(std::uint64_t id, Bytes bytes, Nanos now) {
  const auto found =
      std::find_if(in_service_.begin(), in_service_.end(), [id](const auto& each) { return each.id == id; });
  assert(found != in_service_.end());
  const Lane lane = found->lane;
  in_flight_ -= found->bytes;
  if (!found->claim.write) rate_.ended(bytes, now);
  *found = in_service_.back();
  in_service_.pop_back();
  return lane;
}

void WindowPolicy::served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) {
  measure(now);
  const Lane lane = end_service(id, bytes, now);
  if (finished) {
    grid_.finished();
    lanes_.forget(id);
  } else {
    lanes_.give_back(id, bytes);
  }
  settle(lane);
  while (!blocked_.empty()) unblock(blocked_.back());
}

void WindowPolicy::drop(std::uint64_t id, Nanos now) {
  measure(now);
  const Lane lane = lanes_.lane_of(id);
  lanes_.forget(id);
  unblock(lane);
  settle(lane);
}

void WindowPolicy::block(Lane lane) {
  heads_.erase(lane);
  groups_[lane].blocked = true;
  blocked_.push_back(lane);
}

void WindowPolicy::unblock(Lane lane) {
  Group& group = groups_[lane];
  if (!group.blocked) return;
  group.blocked = false;
  blocked_.erase(std::find(blocked_.begin(), blocked_.end(), lane));
  if (!lanes_.empty(lane)) heads_.push(lane, group.rank);
}

WindowPolicy::Lane WindowPolicy::group_of(const QueuedRequest& request) {
  const bool by_arrival = options_.request_clock == WindowOptions::RequestClock::server;
  const TimeWindow window = grid_.place(by_arrival ? request.arrival : request.request_time);
  const NumberPair key{window.start, request.application};
  if (const Lane found = by_window_.find(key); found != by_window_.kNone) return found;
  const Lane lane = lanes_.open();
  by_window_.insert(key, lane);
  if (lane >= groups_.size()) groups_.resize(std::size_t{lane} + 1);
  Group& group = groups_[lane] = Group();
  group.window = window;
  group.application = request.application;
  if (options_.order == WindowOptions::Order::classes)
    group.before = loads_.begin(request.application, window.start);
  return lane;
}

void WindowPolicy::add_load(Group& group, const QueuedRequest& request) const {
  if (!options_.by_size()) return;
  const std::uint64_t tag = std::min(std::max(request.bottleneck, request.length).count(), kLargestLoad);
  if (options_.load == WindowOptions::Load::burst) {
    group.load = std::max(group.load, tag);
    return;
  }
  if (!group.operations.insert(HashOfPair()({request.client, request.sequence}))) return;
  group.load = std::min(group.load + tag, kLargestLoad);
}

WindowRank WindowPolicy::rank_of(const Group& group) const {
  WindowRank rank =
      window_rank(options_, group.window, group.application, std::max(group.load, group.before.load));
  if (group.before.behind > 0) rank.window = std::max(rank.window, group.before.behind + 1);
  return rank;
}

// A dispatch counts once, with the first arrival that ranks before it.
void WindowPolicy::note_crossovers(const WindowRank& arrived) {
  for (InService& each : in_service_) {
    if (each.crossed || !(arrived < each.rank)) continue;
    each.crossed = true;
    ++counters_.crossovers;
  }
}

// After something has left or come back to a lane.
void WindowPolicy::settle(Lane lane) {
  const Group& group = groups_[lane];
  if (lanes_.empty(lane)) {
    if (heads_.contains(lane)) heads_.erase(lane);
    if (!lanes_.deserted(lane)) return;
    by_window_.erase({group.window.start, group.application});
    lanes_.close(lane);
  } else if (!heads_.contains(lane) && !group.blocked) {
    heads_.push(lane, group.rank);
  }
}

// For the adaptive interval: those present now have been since the last event.
void WindowPolicy::measure(Nanos now) {
  if (options_.adaptive) grid_.elapsed(lanes_.size(), now);
}

}  // namespace tutti
