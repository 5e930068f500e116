#include "policy/request/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policy/request/registry.h"
#include "policy/request/window_options.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"rotational"};
constexpr std::array<std::string_view, 2> kFlags = {"false", "true"};

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto rotational = parameters.choice("rotational", 0, kFlags);
  if (!rotational.ok()) return rotational.status();
  std::vector<std::unique_ptr<RequestPolicy>> choices;
  for (const std::string& each : automatic_choices(*rotational == 1)) {
    auto made = make_request_policy(each);
    if (!made.ok()) return made.status();
    choices.push_back(*std::move(made));
  }
  return std::unique_ptr<RequestPolicy>(std::make_unique<AutomaticPolicy>(
      std::move(choices), fmt::format("auto;rotational={}", kFlags.at(*rotational))));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::automatic = {"auto", kParameters, make};

std::vector<std::string> automatic_choices(bool rotational) {
  return {for_device("window", rotational), "fcfs", for_device("window;order=rotated", rotational)};
}

void AutomaticPolicy::advise(const Advice& advice, Nanos /*now*/) {
  plan_ = advice.plan;
  expiry_ = advice.expiry;
}

std::size_t AutomaticPolicy::planned(Nanos now) const {
  std::size_t choice = 0;
  if (now >= expiry_) return choice;
  for (const PlanStep& step : plan_) {
    if (step.from > now) break;
    // A newer coordinator may know more of them.
    choice = step.choice < choices() ? step.choice : 0;
  }
  return choice;
}

Nanos AutomaticPolicy::next_step(Nanos now) const {
  if (now >= expiry_) return Nanos::max();
  Nanos next = expiry_;
  for (const PlanStep& step : plan_) {
    if (step.from > now) next = std::min(next, step.from);
  }
  return next;
}

}  // namespace tutti
