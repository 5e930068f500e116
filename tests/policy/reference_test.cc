// Every variant against a reference that keeps all requests in a plain vector and looks for the least each
// time.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/random.h"
#include "policy/request/fcfs.h"
#include "policy/request/window.h"
#include "tests/policy/one_server.h"

namespace tutti {
namespace {

using test::kSomeDay;

struct Waiting {
  QueuedRequest request;
  bool in_service = false;
  std::uint64_t sweep = 0;
  Bytes served;
};

// What a turn that does not finish a request serves of it.
constexpr Bytes kServed = 4_KiB;

bool conflict(const QueuedRequest& a, const QueuedRequest& b) {
  return a.object == b.object && (a.write || b.write) && a.offset < b.end && b.offset < a.end;
}

// What the header of window says, in the slowest way.
class WindowReference {
 public:
  explicit WindowReference(const WindowOptions& options) : options_(options) {}

  void add(const QueuedRequest& request) {
    const bool fresh = !groups_.contains(key(request));
    Group& group = groups_[key(request)];
    if (fresh) remember(request, group);
    all_.push_back({request, false, group.sweep + (place(request) < group.reached ? 1 : 0), Bytes()});
    ++group.members;
    const std::uint64_t tag = std::max(request.bottleneck, request.length).count();
    if (options_.load == WindowOptions::Load::burst) {
      group.load = std::max(group.load, tag);
    } else if (group.operations.emplace(request.client, request.sequence).second) {
      group.load += tag;
    }
    if (Known& known = known_[request.application]; known.window == window(request)) {
      known.loads.back() = group.load;
      known.ranked_in = rank_of_group(request)[0];
    }
  }
  // 0: nothing to dispatch.
  std::uint64_t next() {
    std::size_t busy = 0;
    Bytes in_flight;
    std::map<Key, Waiting*> heads;  // who is first in each group
    for (Waiting& each : all_) {
      if (each.in_service) {
        ++busy;
        const Bytes left = each.request.length - std::min(each.served, each.request.length);
        if (each.request.length > options_.small) in_flight += std::min(left, quantum(each.request));
        continue;
      }
      Waiting*& head = heads[key(each.request)];
      if (head == nullptr || rank(each) < rank(*head)) head = &each;
    }
    if (busy >= options_.dispatch_depth) return 0;
    Waiting* best = nullptr;
    for (const auto& [group, head] : heads) {
      const bool blocked = std::any_of(all_.begin(), all_.end(), [&](const Waiting& each) {
        return each.in_service && conflict(each.request, head->request);
      });
      if (!blocked && (best == nullptr || rank(*head) < rank(*best))) best = head;
    }
    if (best == nullptr || (busy > 0 && in_flight >= budget(best->request))) return 0;
    best->in_service = true;
    Group& group = groups_[key(best->request)];
    group.sweep = best->sweep;
    group.reached = place(best->request);
    return best->request.id;
  }
  void give_back(std::uint64_t id) {
    find(id)->in_service = false;
    find(id)->served += kServed;
  }
  void remove(std::uint64_t id) {
    const auto found = find(id);
    const auto group = groups_.find(key(found->request));
    if (--group->second.members == 0) groups_.erase(group);
    all_.erase(found);
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  using Place = std::pair<std::uint64_t, Bytes>;
  using Rank = std::array<std::uint64_t, 4>;
  // What is known of an application's latest window: its load, and the window it ranked in.
  struct Standing {
    std::uint64_t load = 0;
    std::uint64_t window = 0;
  };
  struct Known {
    std::uint64_t window = 0;
    std::uint64_t before = 0;          // the window that the one before ranked in
    std::uint64_t ranked_in = 0;       // the same of this one
    std::vector<std::uint64_t> loads;  // of all its groups
  };
  struct Group {
    Standing before;
    std::size_t members = 0;
    std::uint64_t load = 0;
    std::uint64_t sweep = 0;
    Place reached;
    std::set<std::pair<std::uint64_t, std::uint64_t>> operations;
  };
  [[nodiscard]] bool written_apart(const QueuedRequest& request) const {
    return request.write && options_.write_budget > Bytes();
  }
  [[nodiscard]] Bytes budget(const QueuedRequest& request) const {
    return written_apart(request) ? options_.write_budget : options_.budget;
  }
  [[nodiscard]] Bytes quantum(const QueuedRequest& request) const {
    return written_apart(request) ? options_.write_budget : options_.quantum;
  }
  void remember(const QueuedRequest& request, Group& group) {
    const std::uint64_t w = window(request);
    Known& known = known_[request.application];
    std::uint64_t load = 0;
    for (std::size_t i = 1; i <= 3 && i <= known.loads.size(); ++i)
      load = std::max(load, known.loads[known.loads.size() - i]);
    if (known.loads.empty()) {
      known.window = w;
    } else if (w > known.window) {
      known.window = w;
      known.before = known.ranked_in;
    }
    known.loads.push_back(0);
    group.before = {load, known.before};
  }
  [[nodiscard]] std::uint64_t window(const QueuedRequest& request) const {
    return static_cast<std::uint64_t>(request.request_time / options_.interval);
  }
  [[nodiscard]] Key key(const QueuedRequest& request) const { return {window(request), request.application}; }
  [[nodiscard]] Place place(const QueuedRequest& request) const {
    if (options_.within == WindowOptions::Within::arrival) return {};
    return {request.object, request.offset};
  }
  [[nodiscard]] std::tuple<Rank, std::uint64_t, Place, std::uint64_t> rank(const Waiting& each) const {
    return {rank_of_group(each.request), each.sweep, place(each.request), each.request.id};
  }
  [[nodiscard]] Rank rank_of_group(const QueuedRequest& request) const {
    const std::uint64_t w = window(request);
    const std::uint64_t application = request.application;
    switch (options_.order) {
      case WindowOptions::Order::id:
        return {paper_priority(request.request_time, options_.interval, application), 0, 0, application};
      case WindowOptions::Order::rotated:
        return {w, 0, window_turn(w, application), application};
      case WindowOptions::Order::smallest:
      case WindowOptions::Order::classes:
        break;
    }
    const bool classes = options_.order == WindowOptions::Order::classes;
    const Group& group = groups_.at(key(request));
    const std::uint64_t load = classes ? std::max(group.load, group.before.load) : group.load;
    std::uint64_t demotion = 0;
    for (std::uint64_t left = load / options_.unit.count(); left > 0 && demotion < options_.patience;
         left /= 2) {
      ++demotion;
    }
    if (!classes) return {w + demotion, load, 0, application};
    std::uint64_t size = 0;
    for (std::uint64_t left = load; left > 0; left /= 2) ++size;
    std::uint64_t demoted = w + demotion;
    if (group.before.window > 0) demoted = std::max(demoted, group.before.window + 1);
    return {demoted, size, window_turn(w, application), application};
  }
  std::vector<Waiting>::iterator find(std::uint64_t id) {
    return std::find_if(all_.begin(), all_.end(),
                        [id](const Waiting& each) { return each.request.id == id; });
  }

  WindowOptions options_;
  std::vector<Waiting> all_;
  std::map<Key, Group> groups_;
  std::map<std::uint64_t, Known> known_;  // by application
};

class FcfsReference {
 public:
  explicit FcfsReference(std::size_t depth) : depth_(depth) {}
  void add(const QueuedRequest& request) { all_.push_back({request, false, 0, Bytes()}); }
  // The oldest that none before it in line and none in service stands in the way of.
  std::uint64_t next() {
    std::size_t busy = 0;
    for (const Waiting& each : all_) busy += each.in_service ? 1 : 0;
    if (busy >= depth_) return 0;
    std::set<std::uint64_t> held_up;  // objects of which an older one waits
    for (Waiting& each : all_) {
      if (each.in_service || held_up.contains(each.request.object)) continue;
      held_up.insert(each.request.object);
      bool free = true;
      for (const Waiting& other : all_)
        free = free && !(other.in_service && conflict(each.request, other.request));
      if (!free) continue;
      each.in_service = true;
      return each.request.id;
    }
    return 0;
  }
  void give_back(std::uint64_t id) { find(id)->in_service = false; }
  void remove(std::uint64_t id) { all_.erase(find(id)); }

 private:
  std::vector<Waiting>::iterator find(std::uint64_t id) {
    return std::find_if(all_.begin(), all_.end(),
                        [id](const Waiting& each) { return each.request.id == id; });
  }
  std::size_t depth_;
  std::vector<Waiting> all_;
};

QueuedRequest random_request(Random& random, std::uint64_t id, Nanos now) {
  QueuedRequest request;
  request.id = id;
  // Two of these eight have the same 15-bit id.
  static const std::vector<std::uint64_t> kApplications = {
      0, 1, 2, 77, 32767, 1'000'000, paper_application_id(1'000'000), ~std::uint64_t{0}};
  request.application = kApplications[random.below(kApplications.size())];
  request.request_time = kSomeDay + now - Nanos(static_cast<std::int64_t>(random.below(1'500'000'000)));
  request.client = random.below(3);
  request.sequence = random.below(200);
  request.object = random.below(6);
  request.offset = 4_KiB * random.below(20);
  request.length = 4_KiB * (1 + random.below(256));
  request.end = request.offset + 4_KiB * (1 + random.below(4));
  request.write = random.chance(0.5);
  if (random.chance(0.7)) request.bottleneck = 4_KiB * random.below(4096);
  return request;
}

// The order in which ids are dispatched under random arrivals, unfinished quanta, departures and drops.
template <typename Reference>
std::vector<std::uint64_t> compare(RequestPolicy& policy, Reference reference, std::uint64_t seed,
                                   int steps) {
  Random random(seed);
  std::vector<std::uint64_t> dispatched;
  std::vector<std::uint64_t> waiting;
  std::vector<std::uint64_t> busy;
  std::uint64_t id = 0;
  Nanos now;
  const auto pick = [&random](std::vector<std::uint64_t>& from) {
    const std::size_t at = random.below(from.size());
    const std::uint64_t picked = from[at];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    return picked;
  };
  for (int step = 0; step < steps; ++step) {
    now += 5_ms;
    const std::uint64_t dice = random.below(100);
    // Grows to some hundred requests, then shrinks, and so on.
    const std::uint64_t arrivals = step / 300 % 2 == 0 ? 55 : 15;
    if (dice < arrivals) {
      const QueuedRequest request = random_request(random, ++id, now);
      policy.add(request, now);
      reference.add(request);
      waiting.push_back(request.id);
    } else if (dice < arrivals + 5) {
      if (waiting.empty()) continue;
      const std::uint64_t gone = pick(waiting);
      policy.drop(gone, now);
      reference.remove(gone);
    } else if (!busy.empty() && dice % 2 == 0) {
      const std::uint64_t served = pick(busy);
      const bool finished = random.chance(0.6);
      policy.served(served, kServed, finished, now);
      if (finished) {
        reference.remove(served);
      } else {
        reference.give_back(served);
        waiting.push_back(served);
      }
    } else {
      const Decision decision = policy.next(now);
      const std::uint64_t expected = reference.next();
      EXPECT_EQ(decision.kind == Decision::Kind::dispatch ? decision.id : 0, expected) << "step " << step;
      if (decision.kind != Decision::Kind::dispatch || decision.id != expected) continue;
      std::erase(waiting, expected);
      busy.push_back(expected);
      dispatched.push_back(expected);
    }
    EXPECT_EQ(policy.queued(), waiting.size());
    if (::testing::Test::HasFailure()) break;
  }
  return dispatched;
}

TEST(PolicyReference, WindowAgreesInEveryVariantAndRepeats) {
  for (const auto order : {WindowOptions::Order::id, WindowOptions::Order::rotated,
                           WindowOptions::Order::smallest, WindowOptions::Order::classes}) {
    for (const auto load : {WindowOptions::Load::burst, WindowOptions::Load::operations}) {
      for (const std::uint64_t depth : {1U, 2U, 4U}) {
        WindowOptions options;
        options.within = depth == 2 ? WindowOptions::Within::arrival : WindowOptions::Within::offset;
        options.order = order;
        options.load = load;
        options.adaptive = false;
        options.interval = 250_ms;
        options.period = 250_ms;
        options.quantum = 128_KiB;
        options.dispatch_depth = depth;
        options.budget = load == WindowOptions::Load::burst ? 512_KiB : 12_KiB;
        options.patience = depth;
        if (depth == 4) {
          options.small = 2_KiB;
          options.write_budget = 24_KiB;
        }
        WindowPolicy policy(options);
        WindowPolicy again(options);
        const auto first = compare(policy, WindowReference(options), 100 + depth, 1500);
        const auto second = compare(again, WindowReference(options), 100 + depth, 1500);
        ASSERT_GT(first.size(), 250U) << policy.name();
        ASSERT_EQ(first, second) << policy.name();
        ASSERT_EQ(policy.counters().crossovers, again.counters().crossovers);
      }
    }
  }
}

TEST(PolicyReference, FcfsAgrees) {
  for (const std::uint64_t depth : {1U, 3U, 16U}) {
    FcfsPolicy policy(depth);
    EXPECT_GT(compare(policy, FcfsReference(depth), depth, 3000).size(), 500U);
  }
}

}  // namespace
}  // namespace tutti
