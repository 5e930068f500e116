#include "policy/request/window.h"

#include <algorithm>
#include <cassert>

#include "policy/request/registry.h"

namespace tutti {
namespace {

// A tag is the client's word; a sum of tags must not wrap.
constexpr std::uint64_t kLargestLoad = std::uint64_t{1} << 48U;

// An adaptive grid begins one step longer: while nothing is known of the load, a window that ends in the middle of a
// burst costs more than one that is too long.
WindowGrid make_grid(const WindowOptions& options) {
  if (!options.adaptive) return WindowGrid(options.interval);
  const Nanos first = std::min(options.interval * 2, options.max_interval);
  return {first, options.min_interval, options.max_interval};
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
  const Lane lane = group_of(request);
  const bool swept = options_.within == WindowOptions::Within::offset;
  lanes_.push(lane, request.id, swept ? Sweeps::Place{request.object, request.offset} : Sweeps::Place(),
              {request.object, request.offset, request.end, request.write});
  Group& group = groups_[lane];
  add_load(group, request);
  group.rank = rank_of(group);
  if (heads_.contains(lane)) {
    if (options_.order == WindowOptions::Order::smallest) heads_.update(lane, group.rank);
  } else {
    heads_.push(lane, group.rank);
  }
  note_crossovers(group.rank);
}

Decision WindowPolicy::next(Nanos /*now*/) {
  if (heads_.empty()) return Decision::idle();
  const Lane lane = heads_.top();
  if (!may_go(lane)) return Decision::idle();
  const Sweeps::Claim claim = lanes_.claim_of_head(lane);
  const std::uint64_t id = lanes_.take(lane);
  in_service_.push_back({id, lane, groups_[lane].rank, claim, false});
  if (lanes_.empty(lane)) heads_.erase(lane);
  ++counters_.dispatches;
  return Decision::dispatch(id, options_.quantum);
}

bool WindowPolicy::may_go(Lane lane) const {
  if (in_service_.empty()) return true;
  const Sweeps::Claim& claim = lanes_.claim_of_head(lane);
  bool alike = in_service_.size() < options_.together;
  for (const InService& each : in_service_) {
    if (each.claim.conflicts(claim)) return false;
    alike = alike && each.lane == lane;
  }
  return alike || in_service_.size() < options_.dispatch_depth;
}

void WindowPolicy::served(std::uint64_t id, Bytes /*bytes*/, bool finished, Nanos now) {
  measure(now);
  const auto found =
      std::find_if(in_service_.begin(), in_service_.end(), [id](const auto& each) { return each.id == id; });
  assert(found != in_service_.end());
  const Lane lane = found->lane;
  *found = in_service_.back();
  in_service_.pop_back();
  if (finished) {
    grid_.finished();
    lanes_.forget(id);
  } else {
    lanes_.give_back(id);
  }
  settle(lane);
}

void WindowPolicy::drop(std::uint64_t id, Nanos now) {
  measure(now);
  const Lane lane = lanes_.lane_of(id);
  lanes_.forget(id);
  settle(lane);
}

WindowPolicy::Lane WindowPolicy::group_of(const QueuedRequest& request) {
  const bool by_arrival = options_.request_clock == WindowOptions::RequestClock::server;
  const TimeWindow window = grid_.place(by_arrival ? request.arrival : request.request_time);
  const NumberPair key{window.start, request.application};
  if (const Lane found = by_window_.find(key); found != by_window_.kNone) return found;
  const Lane lane = lanes_.open();
  by_window_.insert(key, lane);
  if (lane >= groups_.size()) groups_.resize(std::size_t{lane} + 1);
  groups_[lane] = Group{window, request.application, 0, {}, {}};
  return lane;
}

void WindowPolicy::add_load(Group& group, const QueuedRequest& request) const {
  if (options_.order != WindowOptions::Order::smallest) return;
  const std::uint64_t tag = std::min(std::max(request.bottleneck, request.length).count(), kLargestLoad);
  if (options_.load == WindowOptions::Load::burst) {
    group.load = std::max(group.load, tag);
    return;
  }
  const NumberPair operation{request.client, request.sequence};
  if (group.operations.find(operation) != group.operations.kNone) return;
  group.operations.insert(operation, 1);
  group.load = std::min(group.load + tag, kLargestLoad);
}

WindowRank WindowPolicy::rank_of(const Group& group) const {
  return window_rank(options_, group.window, group.application, group.load);
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
  } else if (!heads_.contains(lane)) {
    heads_.push(lane, group.rank);
  }
}

// For the adaptive interval: those present now have been since the last event.
void WindowPolicy::measure(Nanos now) {
  if (options_.adaptive) grid_.elapsed(lanes_.size(), now);
}

}  // namespace tutti
