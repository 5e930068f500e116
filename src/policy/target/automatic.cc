// auto: what a user gets.
//
// Servers that have their objects in memory are as fast as their cards: towards them `window` bytes and at least two pieces of a
// transfer are under way in any case, in the order of `load`, and more only to servers that have just said that they are idle. So small
// transfers go to all their servers at once, one client alone uses all of them, and many at once leave each a short queue.
// A device puts in order what it has: servers with one (which tell no pace), and those that have not answered yet, get all that
// may be in flight, a piece of each in turn; reads in an order that is drawn, so that clients which began together do not come to
// all devices at the same time.
#include <fmt/format.h>

#include "policy/target/by_load.h"
#include "policy/target/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"window"};
constexpr Bytes kWindow = 8_MiB;

class AutomaticOrder : public TargetOrder {
 public:
  explicit AutomaticOrder(Bytes window) : window_(window) {}
  [[nodiscard]] std::string name() const override {
    return window_ == kWindow ? "auto" : fmt::format("auto;window={}", window_.count());
  }
  std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& facts,
                                  VisitState& state) const override {
    std::uint64_t deep = 0;
    for (const Target& target : targets) deep += target.open && is_deep(target) ? 1 : 0;
    if (deep > 0) return facts.write ? in_turn(targets) : drawn(targets, deep, facts, state);
    const auto chosen = next_by_load(targets, facts);
    if (!chosen || state.pieces < 2) return chosen;
    const Target& target = targets[*chosen];
    if (state.in_flight + target.next <= window_) return chosen;
    // What it said before this transfer is old news: others may have begun when this one did.
    const bool idle = target.sent > 0 && target.in_flight == 0 && target.wait <= target.service / 4;
    return idle ? chosen : std::nullopt;
  }

 private:
  static bool is_deep(const Target& target) { return !target.known || target.service == Nanos(); }
  static std::optional<std::size_t> in_turn(std::span<const Target> targets) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!targets[i].open || !is_deep(targets[i])) continue;
      if (!best || targets[i].sent < targets[*best].sent) best = i;
    }
    return best;
  }
  static std::optional<std::size_t> drawn(std::span<const Target> targets, std::uint64_t deep, const VisitFacts& facts,
                                          VisitState& state) {
    if (!state.random) state.random.emplace(mix64(facts.chance ^ mix64(facts.transfer)));
    std::uint64_t number = state.random->below(deep);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].open && is_deep(targets[i]) && number-- == 0) return i;
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
