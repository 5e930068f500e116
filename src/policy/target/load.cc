// load: first the servers that answer fastest and have announced the shortest queue.
#include <limits>
#include <tuple>

#include "policy/target/by_load.h"
#include "policy/target/registry.h"

namespace tutti {
namespace {

// What it is ranked by; less is better.
auto rank_of(const Target& target, const VisitFacts& facts) {
  // What it said does not count what was sent to it since.
  const Nanos wait = target.wait + target.service * target.in_flight;
  const bool soon = !target.known || wait <= target.service;
  // By pieces, not bytes: shares that differ by a little would send all clients to the same server.
  return std::make_tuple(!soon, target.in_flight, soon ? Nanos() : wait,
                         std::numeric_limits<std::uint32_t>::max() - target.left,
                         steps_from_start(facts, target.slot));
}

class LoadOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "load"; }
  std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& facts,
                                  VisitState& /*state*/) const override {
    return next_by_load(targets, facts);
  }
};

Result<std::unique_ptr<TargetOrder>> make(const Parameters& /*none*/) {
  return std::unique_ptr<TargetOrder>(std::make_unique<LoadOrder>());
}

}  // namespace

std::optional<std::size_t> next_by_load(std::span<const Target> targets, const VisitFacts& facts) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].open) continue;
    if (!best || rank_of(targets[i], facts) < rank_of(targets[*best], facts)) best = i;
  }
  return best;
}

constinit const Registration<TargetOrder> target_orders::load = {"load", {}, make};

}  // namespace tutti
