// auto: what a user gets.
//
// A small transfer goes all at once in the order of the file: it waits for messages, not for servers, and whoever reads at the end
// of a file that grows should find it without holes.
// Servers that have their objects in memory are as fast as their cards. A write to them goes in the order of `load` with all that
// may be in flight: whoever is held up at one server is served by another. Of a read two pieces are under way, or as many small ones as
// make a `window`: more senders than the client's card can take in would make each other late. They go in the order of `hash`, by `load`
// if shares are unequal. The ranks of a program that begin together would come to each server in the order of chance, and make each
// other late by it: so each asks for its first pieces one after the other, a small part of a piece's time apart.
// Of a write to devices, servers with one (which tell no pace) and those that have not answered yet have two pieces each, in the order of
// `hash`. If its shares are unequal and it is one rank's of several, it has two pieces under way in all as long as others are
// there: popular devices would otherwise go back and forth between the streams of all ranks. A read has all that may be in flight; a
// device puts in order what it has. It is drawn whose piece is next if there are more than that, or disks rotate, so that clients which began
// together do not come to all devices at the same time. So has a write to disks that rotate by a client that is no rank of several. Servers
// in memory beside devices are visited in the same order, with any number of pieces.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "policy/target/by_hash.h"
#include "policy/target/by_load.h"
#include "policy/target/paced_order.h"
#include "policy/target/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"window"};
constexpr Bytes kWindow = 8_MiB;
constexpr Bytes kSmall = 1_MiB;
// The part of a piece's time between two first requests: longer than ranks differ in their begin, and too short to be missed, since one
// server fills the client's card.
constexpr std::int64_t kApart = 32;
// Pieces of a write on each server with a device: while one is stored the next one comes.
constexpr std::uint32_t kOnEach = 2;
// A shorter pause is not worth a timer.
constexpr Nanos kLeastPause = 20_us;

class AutomaticOrder : public PacedOrder {
 public:
  explicit AutomaticOrder(Bytes window) : window_(window) {}
  [[nodiscard]] std::string name() const override {
    return window_ == kWindow ? "auto" : fmt::format("auto;window={}", window_.count());
  }
  std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& facts,
                                  VisitState& state) const override {
    if (small(targets)) return in_turn(targets);
    const bool devices = std::any_of(targets.begin(), targets.end(),
                                     [](const Target& each) { return each.open && is_device(each); });
    if (devices) return facts.write ? next_write(targets, facts, state) : next_read(targets, facts, state);
    if (facts.write) return next_by_load(targets, facts);
    if (state.pieces >= at_once(targets)) return std::nullopt;
    return unequal(targets) ? next_by_load(targets, facts) : next_by_hash(targets, facts, state);
  }
  [[nodiscard]] Nanos pause(std::span<const Target> targets, const VisitFacts& facts,
                            const VisitState& state) const override {
    if (facts.write || facts.ranks < 2 || small(targets) || unequal(targets)) return {};
    std::uint32_t sent = 0;
    Nanos longest;
    for (const Target& each : targets) {
      if (is_device(each)) return {};
      sent += each.sent;
      longest = std::max(longest, each.service);
    }
    const Nanos apart = longest / kApart;
    return sent == state.pieces && apart >= kLeastPause ? apart : Nanos();
  }

 private:
  static bool is_device(const Target& target) { return !target.known || target.service == Nanos(); }

  static bool small(std::span<const Target> targets) {
    Bytes all;
    for (const Target& each : targets) all += each.share;
    return all <= kSmall;
  }
  static std::optional<std::size_t> in_turn(std::span<const Target> targets) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].open && (!best || targets[i].sent < targets[*best].sent)) best = i;
    }
    return best;
  }

  // Pieces of a read from memory: two, or more small ones. The same from its begin to its end: clients that keep step would lose it.
  [[nodiscard]] std::uint64_t at_once(std::span<const Target> targets) const {
    Bytes longest = 1_B;
    for (const Target& each : targets) longest = std::max(longest, each.share / (each.left + each.sent));
    return std::max<std::uint64_t>((window_ + longest - 1_B) / longest, 2);
  }

  static std::optional<std::size_t> next_write(std::span<const Target> targets, const VisitFacts& facts,
                                               VisitState& state) {
    if (facts.ranks > 1 && unequal(targets) && !alone(targets))
      return state.pieces < 2 ? next_by_hash(targets, facts, state) : std::nullopt;
    if (facts.ranks < 2 && facts.rotational) return drawn(targets, facts, state);
    // In turn, in the order of hash.
    const auto place = [&](const Target& each) {
      return std::pair(each.in_flight, steps_from_start(facts, each.slot));
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!targets[i].open || (is_device(targets[i]) && targets[i].in_flight >= kOnEach)) continue;
      if (!best || place(targets[i]) < place(targets[*best])) best = i;
    }
    return best;
  }
  // Whether one share is more than twice as large as another.
  static bool unequal(std::span<const Target> targets) {
    Bytes least = Bytes::max();
    Bytes most;
    for (const Target& each : targets) {
      least = std::min(least, each.share);
      most = std::max(most, each.share);
    }
    return most > least * 2;
  }
  // Whether the servers that have answered say that nobody else is there.
  static bool alone(std::span<const Target> targets) {
    std::uint32_t landed = 0;
    for (const Target& each : targets) {
      if (each.sent > each.in_flight && each.wait > Nanos()) return false;
      landed += each.sent - each.in_flight;
    }
    return landed >= 2;
  }

  // All at once in the order of hash if there is room for all, otherwise each drawn. On rotating disks always drawn.
  static std::optional<std::size_t> next_read(std::span<const Target> targets, const VisitFacts& facts,
                                              VisitState& state) {
    std::uint64_t pieces = 0;
    for (const Target& each : targets) pieces += each.left + each.sent;
    if (facts.rotational || pieces > kMostInFlight) return drawn(targets, facts, state);
    std::optional<std::size_t> best;
    const auto place = [&](const Target& each) {
      return std::pair(each.sent, steps_from_start(facts, each.slot));
    };
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!targets[i].open) continue;
      if (!best || place(targets[i]) < place(targets[*best])) best = i;
    }
    return best;
  }
  static std::optional<std::size_t> drawn(std::span<const Target> targets, const VisitFacts& facts,
                                          VisitState& state) {
    if (!state.random) state.random.emplace(mix64(facts.chance ^ mix64(facts.transfer)));
    const auto open =
        std::count_if(targets.begin(), targets.end(), [](const Target& each) { return each.open; });
    std::uint64_t number = state.random->below(static_cast<std::uint64_t>(open));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].open && number-- == 0) return i;
    }
    return std::nullopt;  // there is one
  }
  Bytes window_;
};

Result<std::unique_ptr<TargetOrder>> make(const Parameters& parameters) {
  const auto window = parameters.bytes("window", kWindow, 64_KiB);
  if (!window.ok()) return window.status();
  return std::unique_ptr<TargetOrder>(std::make_unique<AutomaticOrder>(*window));
}

}  // namespace

constinit const Registration<TargetOrder> target_orders::automatic = {"auto", kParameters, make};

}  // namespace tutti
