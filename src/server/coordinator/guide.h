// Guide: the coordinator's part in the request policy `auto`: watches the data servers' reports, lets a Chooser decide, and
// tells all of them its plan.
//
// It does nothing while the cluster has another policy, or while nothing is reported. A plan expires after kValidity unless
// it is told again, so that servers without a coordinator go back to the first choice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "env/env.h"
#include "env/scope.h"
#include "policy/request/chooser.h"
#include "server/coordinator/members.h"
#include "server/coordinator/policy_keeper.h"

namespace tutti {

class Guide {
 public:
  static constexpr Nanos kPeriod = 100_ms;
  static constexpr Nanos kValidity = 60_s;

  // All references must outlive it.
  Guide(Env env, Members& members, const PolicyKeeper& policy);
  Guide(const Guide&) = delete;
  Guide& operator=(const Guide&) = delete;

  void start() { scope_.spawn(run()); }
  // Null while the policy is another one.
  [[nodiscard]] const Chooser* chooser() const { return chooser_ ? &*chooser_ : nullptr; }

 private:
  Task<void> run();
  void look();
  [[nodiscard]] bool wanted() const;
  [[nodiscard]] Chooser::Sample sample() const;
  void tell(Nanos now);

  Env env_;
  Members& members_;
  const PolicyKeeper& policy_;
  std::optional<Chooser> chooser_;
  std::uint32_t connected_ = 0;
  std::vector<PlanStep> plan_;  // on the steady clock
  Nanos told_;
  Scope scope_;
};

}  // namespace tutti
