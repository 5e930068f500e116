// auto: takes the better of several policies, on all servers at one moment.
//
// Its choices are `window`, `fcfs` and `window;order=rotated`, each as suits the device. Which one holds says the plan in
// the coordinator's advice; the coordinator finds out which is better (chooser.h). Without a plan, and when it has expired,
// `window` holds: of the three it loses least where nothing is known yet.
//
// Parameters (auto;key=value):
//   rotational      true | false: of the device; follows it (see for_device() in window_options.h)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/request/switching.h"

namespace tutti {

// The names of what `auto` chooses from. The first one holds where nothing is known.
std::vector<std::string> automatic_choices(bool rotational);

class AutomaticPolicy final : public SwitchingPolicy {
 public:
  AutomaticPolicy(std::vector<std::unique_ptr<RequestPolicy>> choices, std::string name)
      : SwitchingPolicy(std::move(choices)), name_(std::move(name)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  void advise(const Advice& advice, Nanos now) override;

 private:
  [[nodiscard]] std::size_t planned(Nanos now) const override;
  [[nodiscard]] Nanos next_step(Nanos now) const override;

  std::string name_;
  std::vector<PlanStep> plan_;
  Nanos expiry_;
};

}  // namespace tutti
