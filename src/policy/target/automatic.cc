// auto: what a user gets. By load, and no more under way than helps.
//
// Small transfers go to all their servers at once. Of a large one, `window` bytes and at least two pieces are under way in
// any case; more only towards servers that would be idle otherwise, by what they said last. So one client alone uses all its
// servers, and many at once leave each server a short queue.
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
    const auto chosen = next_by_load(targets, facts);
    if (!chosen || state.pieces < 2) return chosen;
    const Target& target = targets[*chosen];
    if (state.in_flight + target.next <= window_) return chosen;
    const bool idle = target.known && target.in_flight == 0 && target.wait <= target.service / 4;
    return idle ? chosen : std::nullopt;
  }

 private:
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
