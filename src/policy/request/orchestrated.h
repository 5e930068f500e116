// orchestrated: time slices for programs with locality, while somebody has them; otherwise the order of all the rest.
//
// Paper 3 (IOrchestrator). While the coordinator's advice has slices, sliced.h serves. While nobody has one, all are the rest, and
// are served as `rest` says: by `window`, as a user has it without slices, or first come, first served, as the paper has it. So who
// gets no slice loses nothing by orchestration, and slices have to be faster than the best there is without them.
//
// Parameters: see policy/orchestra/options.h.
#pragma once

#include <string>

#include "policy/orchestra/options.h"
#include "policy/request/switching.h"

namespace tutti {

class OrchestratedPolicy final : public SwitchingPolicy {
 public:
  // `rest`: who serves while there are no slices.
  OrchestratedPolicy(const OrchestraOptions& options, std::unique_ptr<RequestPolicy> rest);

  [[nodiscard]] std::string name() const override { return orchestra_name(options_); }
  [[nodiscard]] Bytes ahead() const override { return options_.block_ahead(); }
  void advise(const Advice& advice, Nanos now) override;
  [[nodiscard]] std::optional<Dedicated> dedicated(std::uint64_t application, Nanos now) const override;
  [[nodiscard]] PolicyCounters counters() const override;

 private:
  static constexpr std::size_t kRest = 0;
  static constexpr std::size_t kSliced = 1;

  [[nodiscard]] std::size_t planned(Nanos now) const override;
  [[nodiscard]] Nanos next_step(Nanos now) const override;

  OrchestraOptions options_;
  Nanos from_, to_;  // while there are slices
};

}  // namespace tutti
