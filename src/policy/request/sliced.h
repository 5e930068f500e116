// SlicedPolicy: serves one program at a time, on all servers at the same time, in slices that the coordinator announces.
//
// Paper 3 (IOrchestrator). The coordinator decides who gets slices and how long they are (policy/orchestra/orchestrator.h); this is the
// data server's part, for orchestrated.h. In a slice only requests of its owner are released, first come, first served, up to
// dispatch_depth at once; in the slice of all the rest, those of everybody without a slice of his own. Who is named by no slice
// while none is for the rest is served at any time: he came after the plan was made.
//
//   - At a switch requests in service end first, then the next slice's begin (PolicyCounters::drain). None is started that would
//     outlast the slice, as far as one knows from the bytes that are in service and what a byte took lately; one that is
//     longer than any slice is started in the first half.
//   - Idle servers. One that has nothing to do for the owner serves others if the owner usually leaves it idle for longer than the
//     jump there and back costs, or has done so by now. What a jump costs is learnt from service times.
//   - Fails open. Without slices, and when the advice has expired (no announcement for two windows), everybody is served first come,
//     first served.
//
// Parameters: see policy/orchestra/options.h.
// Cost: O(log requests); in the slice of the rest, also the requests in line of those who have slices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/orchestra/options.h"
#include "policy/orchestra/running_average.h"
#include "policy/request/guarded_policy.h"

namespace tutti {

class SlicedPolicy final : public GuardedPolicy {
 public:
  explicit SlicedPolicy(const OrchestraOptions& options)
      : GuardedPolicy(options.dispatch_depth), options_(options) {}

  [[nodiscard]] std::string name() const override { return orchestra_name(options_); }
  [[nodiscard]] Bytes ahead() const override { return options_.block_ahead(); }
  void advise(const Advice& advice, Nanos now) override;
  [[nodiscard]] std::optional<Dedicated> dedicated(std::uint64_t application, Nanos now) const override;
  [[nodiscard]] PolicyCounters counters() const override;

 private:
  // Smaller goes first.
  struct Rank {
    std::uint64_t window = 0;  // both 0 unless rest=window
    std::uint64_t turn = 0;
    std::uint64_t id = 0;
    Handle handle = kNone;
    auto operator<=>(const Rank&) const = default;
  };
  static constexpr double kOld = 7.0 / 8;
  // How long an owner leaves this server without anything to do in his slice.
  struct Idle {
    std::optional<Nanos> since;
    RunningAverage mean{kOld};  // nanoseconds
    void begin(Nanos now) {
      if (!since) since = now;
    }
    // He came back, or at least his slice is over.
    void end(Nanos now, bool came_back);
  };
  struct Program {
    std::set<Rank> line;
    std::size_t in_service = 0;
    Idle idle;
    RunningAverage per_byte{kOld};  // nanoseconds of the device
    [[nodiscard]] bool absent() const { return line.empty() && in_service == 0; }
  };
  using Programs = std::map<std::uint64_t, Program>;
  struct Started {
    Nanos at;
    bool foreign = false;  // from before the switch, and not of the slice's owner
  };

  void enter(Handle handle, Nanos now) override;
  Choice choose(Nanos now) override;
  void left(Handle handle, Nanos now) override;
  void ended(Handle handle, Nanos now) override;

  [[nodiscard]] const TimeSlice* slice_at(Nanos now) const;
  // When something else holds by itself; Nanos::max(): never.
  [[nodiscard]] Nanos next_change(Nanos now) const;
  [[nodiscard]] bool named(std::uint64_t application) const;
  [[nodiscard]] bool belongs(std::uint64_t application, const TimeSlice& slice) const;
  [[nodiscard]] bool fits(const Program& program, Bytes length, const TimeSlice& slice, Nanos now) const;
  // The first in line of all, of the slice's owner, of those in no plan; kNone if there is none.
  [[nodiscard]] Handle first() const { return line_.empty() ? kNone : line_.begin()->handle; }
  [[nodiscard]] Handle first_of(const TimeSlice& slice) const;
  [[nodiscard]] Handle first_unnamed() const;
  Choice take(Handle handle, Nanos now);
  // What a server does for others while the slice's owner has nothing for it.
  Choice fill(const TimeSlice& slice, Nanos now);
  [[nodiscard]] bool owner_absent(const TimeSlice& slice) const;
  Idle& idle_of(const TimeSlice& slice);
  [[nodiscard]] Rank rank_of(Handle handle) const;
  void enter_slice(const TimeSlice& slice, Nanos now);
  void learn(Program& program, std::uint64_t application, Bytes length, Nanos started, Nanos now);
  // A program that has nothing here need not be remembered for ever.
  void tidy(std::uint64_t application);
  [[nodiscard]] Nanos jump() const;

  OrchestraOptions options_;
  std::vector<TimeSlice> slices_;
  Nanos expiry_;
  bool rest_has_slice_ = false;
  std::vector<std::uint64_t> named_;  // ascending
  std::set<Rank> line_;               // of all programs
  Programs programs_;
  Idle rest_idle_;
  std::map<Handle, Started> started_;
  Bytes bytes_in_service_;
  std::optional<TimeSlice> current_;  // that was last seen
  std::size_t foreign_ = 0;
  Nanos last_end_;
  std::uint64_t last_program_ = 0;
  RunningAverage jump_{kOld};  // nanoseconds
  PolicyCounters slice_counters_;
};

}  // namespace tutti
