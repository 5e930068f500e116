#include "policy/request/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "policy/request/parameters.h"

namespace tutti {
namespace {

constexpr std::uint64_t kPaperIds = 32768;
// A tag is the client's word; a sum of tags must not wrap.
constexpr std::uint64_t kLargestLoad = std::uint64_t{1} << 48U;

constexpr std::array<std::string_view, 3> kOrders = {"id", "rotated", "smallest"};
constexpr std::array<std::string_view, 2> kWithins = {"offset", "arrival"};
constexpr std::array<std::string_view, 2> kLoads = {"burst", "operations"};
constexpr std::array<std::string_view, 2> kClocks = {"client", "server"};
constexpr std::array<std::string_view, 2> kFlags = {"false", "true"};

Nanos milliseconds(std::uint64_t count) { return Nanos(static_cast<std::int64_t>(count) * 1'000'000); }

bool power_of_two_apart(Nanos shorter, Nanos longer) {
  return shorter <= longer && longer.millis() % shorter.millis() == 0 &&
         std::has_single_bit(static_cast<std::uint64_t>(longer / shorter));
}

// An adaptive grid begins one step longer: while nothing is known of the load, a window that ends in the middle of a
// burst costs more than one that is too long.
WindowGrid make_grid(const WindowOptions& options) {
  if (!options.adaptive) return WindowGrid(options.interval);
  const Nanos first = std::min(options.interval * 2, options.max_interval);
  return {first, options.min_interval, options.max_interval};
}

}  // namespace

std::uint64_t paper_application_id(std::uint64_t application) {
  return application < kPaperIds ? application : mix64(application) % kPaperIds;
}

std::uint64_t paper_priority(Nanos request_time, Nanos interval, std::uint64_t application) {
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(request_time.millis(), 0));
  return time / static_cast<std::uint64_t>(interval.millis()) * kPaperIds + paper_application_id(application);
}

std::uint64_t window_turn(std::uint64_t window_number, std::uint64_t application) {
  const std::uint64_t turn = mix64(mix64(window_number / 2) ^ application);
  return window_number % 2 == 0 ? turn : ~turn;
}

std::string with_default_interval(std::string_view policy, bool rotational) {
  if (policy.substr(0, policy.find(';')) != "window" || policy.find(";interval=") != std::string_view::npos) {
    return std::string(policy);
  }
  return fmt::format("{};interval={}", policy, rotational ? 1000 : 250);
}

std::vector<std::string_view> WindowPolicy::parameters() {
  return {"interval", "request_clock", "dispatch_depth", "together", "quantum",      "order",       "within",
          "load",     "patience",      "unit",           "adaptive", "min_interval", "max_interval"};
}

Result<std::unique_ptr<RequestPolicy>> WindowPolicy::make(const Parameters& parameters) {
  constexpr std::uint64_t kDay = 86'400'000;
  WindowOptions options;
  Status wrong;
  const auto take = [&wrong](auto result, auto store) {
    if (result.ok()) {
      store(*result);
    } else if (wrong.ok()) {
      wrong = result.status();
    }
  };
  const auto interval = [&](std::string_view key, Nanos& into) {
    take(parameters.number(key, static_cast<std::uint64_t>(into.millis()), 1, kDay),
         [&](std::uint64_t ms) { into = milliseconds(ms); });
  };
  interval("interval", options.interval);
  interval("min_interval", options.min_interval);
  interval("max_interval", options.max_interval);
  take(parameters.number("dispatch_depth", options.dispatch_depth, 1, 1024),
       [&](std::uint64_t depth) { options.dispatch_depth = depth; });
  take(parameters.number("together", options.together, 1, 1024),
       [&](std::uint64_t together) { options.together = together; });
  take(parameters.bytes("quantum", options.quantum, 4_KiB),
       [&](Bytes quantum) { options.quantum = quantum; });
  take(parameters.choice("request_clock", 0, kClocks),
       [&](std::size_t clock) { options.request_clock = static_cast<WindowOptions::RequestClock>(clock); });
  take(parameters.choice("order", 0, kOrders),
       [&](std::size_t order) { options.order = static_cast<WindowOptions::Order>(order); });
  take(parameters.choice("within", 0, kWithins),
       [&](std::size_t within) { options.within = static_cast<WindowOptions::Within>(within); });
  take(parameters.choice("load", 0, kLoads),
       [&](std::size_t load) { options.load = static_cast<WindowOptions::Load>(load); });
  take(parameters.number("patience", options.patience, 0, 1024),
       [&](std::uint64_t windows) { options.patience = windows; });
  take(parameters.bytes("unit", options.unit, 1_B), [&](Bytes unit) { options.unit = unit; });
  take(parameters.choice("adaptive", 0, kFlags), [&](std::size_t flag) { options.adaptive = flag == 1; });
  if (!wrong.ok()) return wrong;
  if (options.adaptive && !(power_of_two_apart(options.min_interval, options.interval) &&
                            power_of_two_apart(options.interval, options.max_interval))) {
    return Status(
        Code::invalid,
        fmt::format("adaptive=true with min_interval={}, interval={}, max_interval={}: use ascending ones, "
                    "each a power of two times the one before",
                    options.min_interval.millis(), options.interval.millis(), options.max_interval.millis()));
  }
  return std::unique_ptr<RequestPolicy>(std::make_unique<WindowPolicy>(options));
}

WindowPolicy::WindowPolicy(const WindowOptions& options) : options_(options), grid_(make_grid(options)) {}

std::string WindowPolicy::name() const {
  const auto size = [](Bytes bytes) {
    return bytes == Bytes::max() ? "max" : fmt::format("{}", bytes.count());
  };
  std::string name = fmt::format("window;interval={};dispatch_depth={};quantum={};order={}",
                                 options_.interval.millis(), options_.dispatch_depth, size(options_.quantum),
                                 kOrders.at(static_cast<std::size_t>(options_.order)));
  if (options_.order == WindowOptions::Order::smallest) {
    name += fmt::format(";load={};patience={};unit={}", kLoads.at(static_cast<std::size_t>(options_.load)),
                        options_.patience, size(options_.unit));
  }
  if (options_.together > 1) name += fmt::format(";together={}", options_.together);
  if (options_.within == WindowOptions::Within::arrival) name += ";within=arrival";
  if (options_.request_clock == WindowOptions::RequestClock::server) name += ";request_clock=server";
  if (options_.adaptive) {
    name += fmt::format(";adaptive=true;min_interval={};max_interval={}", options_.min_interval.millis(),
                        options_.max_interval.millis());
  }
  return name;
}

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

WindowPolicy::Rank WindowPolicy::rank_of(const Group& group) const {
  const TimeWindow& window = group.window;
  switch (options_.order) {
    case WindowOptions::Order::rotated:
      return {window.start, window_turn(window.number, group.application), group.application};
    case WindowOptions::Order::smallest: {
      const auto width = static_cast<std::uint64_t>(std::bit_width(group.load / options_.unit.count()));
      const std::uint64_t demotion = std::min(options_.patience, width);
      return {window.start + demotion * window.grains, group.load, group.application};
    }
    case WindowOptions::Order::id:
      break;
  }
  // Compared as a pair, which is the paper's window * 32768 + id.
  return {window.start, paper_application_id(group.application), group.application};
}

// A dispatch counts once, with the first arrival that ranks before it.
void WindowPolicy::note_crossovers(const Rank& arrived) {
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
