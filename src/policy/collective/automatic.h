// auto: on rotating disks the plan with the lowest predicted cost (cost.h), elsewhere two_phase where exchange pays and
// independent where it does not.
#pragma once

#include "policy/collective/plan.h"

namespace tutti {

// Without disks that rotate, exchange costs every byte one or two more copies and all ranks some waiting; list I/O costs the
// servers some time for each run. So runs are exchanged only if they are small, the ranks' accesses are interleaved
// (otherwise each rank's runs are as good as an aggregator's), and the bytes wanted are a fair share of what lies between.
// On disks, what was predicted for each plan, and which was chosen, stands in the arrangement's reason. The hints cb_read and
// cb_write overrule both: `enable` leaves only plans that aggregate.
class AutomaticPlan : public CollectivePlan {
 public:
  static constexpr Bytes kSmallRun = 1_KiB;
  static constexpr std::uint64_t kSparse = 8;  // less than an eighth is wanted

  [[nodiscard]] std::string name() const override { return "auto"; }
  [[nodiscard]] bool has_habits() const override { return true; }
  [[nodiscard]] bool would_be_own(const RankFacts& mine) const override {
    return mine.runs == 0 || mine.bytes >= kSmallRun * mine.runs;
  }
  [[nodiscard]] bool wants_bytes_by_slot() const override { return true; }
  [[nodiscard]] Schedule schedule(const CollectiveFacts& facts) const override {
    return arrange(facts).aggregators;
  }
  [[nodiscard]] Arrangement arrange(const CollectiveFacts& facts) const override;
};

}  // namespace tutti
