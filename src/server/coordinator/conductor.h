// Conductor: the coordinator's part in the request policy `orchestrated`: watches the data servers' reports, lets an
// Orchestrator decide who gets time slices, and announces them.
//
// Windows lie on a grid of the cluster's time. Shortly before each one the slices of this window and of the next are told
// to all data servers, with the moments in the cluster's time at which they begin, so that all switch together and one lost
// message does no harm. An announcement expires after those two windows: without a coordinator data servers go back to first
// come, first served. A coordinator that comes back begins anew from the next reports. A program that is not heard of in a window
// has no slice in the next.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "env/env.h"
#include "env/scope.h"
#include "policy/orchestra/orchestrator.h"
#include "server/coordinator/guide.h"
#include "server/coordinator/members.h"
#include "server/coordinator/policy_keeper.h"

namespace tutti {

class Conductor {
 public:
  // Slices are told so long before the window that they are for.
  static constexpr Nanos kLead = 20_ms;

  // All references must outlive it.
  Conductor(Env env, Members& members, const PolicyKeeper& policy);
  Conductor(const Conductor&) = delete;
  Conductor& operator=(const Conductor&) = delete;

  void start() { scope_.spawn(run()); }
  // With another policy it only watches: `tutti policy suggest` asks what slices would gain. Null before the first report.
  [[nodiscard]] const Orchestrator* orchestrator() const { return orchestrator_ ? &*orchestrator_ : nullptr; }
  // With slices, so far.
  [[nodiscard]] std::uint64_t announcements() const { return announcements_; }

 private:
  Task<void> run();
  // The options in force; the defaults with another policy.
  void follow_policy();
  [[nodiscard]] std::vector<OrchestraSample> samples() const;
  void announce(Nanos begin);

  Env env_;
  Members& members_;
  const PolicyKeeper& policy_;
  std::string text_;  // of the policy
  std::optional<Orchestrator> orchestrator_;
  bool watching_ = false;  // only: the policy is another one
  std::uint32_t connected_ = 0;
  bool announced_ = false;  // slices hold
  std::vector<TimeSlice> announced_slices_;
  std::uint64_t announcements_ = 0;
  Scope scope_;
};

// The orchestrator's table as it stands in a status reply; `files` by application.
std::vector<wire::OrchestraProgram> to_wire(const Orchestrator& orchestrator,
                                            const std::map<std::uint64_t, std::size_t>& files);
wire::OrchestraState state_to_wire(const Orchestrator& orchestrator);

}  // namespace tutti
