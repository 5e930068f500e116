// Orchestrator: which programs get the servers for themselves for a slice of time, and how long a slice is. Pure.
//
// Paper 3 (IOrchestrator), section III.C. A program is eligible if
//   1. the servers agree: the standard deviations of SL_i and of SL_ij over the servers are below `deviation` of their means;
//   2. it pays: mean SL_i / mean SL_ij is at least `ratio`: together the programs jump farther than this one alone;
//   3. it is not too slow: its mean reuse distance is at most the mean cost of a jump. That is known only once a slice was
//      granted: a program that meets the first two gets one on trial.
// SL and RD are means over the last window (locality.h has the sums). Each eligible program is an object, all others together are one
// more, and every object gets its part of each window (slice_plan.h). With a single object there is nothing to divide.
//
// A program that failed condition 3 is not tried again for kRefusal, then for twice as long, up to kLongestRefusal. One that misses
// conditions 1 or 2 once keeps its slices until it misses them kMisses times in a row.
//
// Where addresses mean nothing, or are not believed, trials decide (slice_trial.h); see OrchestraOptions::by. With both, conditions 1 and 2
// say who gets slices, and a trial whether they are worth it, instead of condition 3; nothing is tried whose expected gain is small: where
// a jump costs nothing, slices save nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "policy/orchestra/options.h"
#include "policy/orchestra/slice_plan.h"
#include "policy/orchestra/slice_trial.h"

namespace tutti {

// A data server's report, sums since it started; see Locality.
struct OrchestraSample {
  struct Program {
    std::uint64_t application = 0;
    Bytes bytes;
    std::uint64_t requests = 0;
    std::uint64_t present = 0;  // in line or in service now
    std::uint64_t gaps = 0;
    Bytes distance;
    std::uint64_t far = 0;
    std::uint64_t reuses = 0;
    Nanos reuse;
  };
  std::vector<Program> programs;
  std::uint64_t gaps = 0;
  Bytes distance;
  std::uint64_t far = 0;
  std::uint64_t rest_reuses = 0;
  Nanos rest_reuse;
  Nanos jump;
  bool addresses = false;  // bytes have places, though perhaps nobody asked for any in this window
};

enum class Eligibility : std::uint8_t {
  unknown,   // too little was seen of it
  uneven,    // condition 1 fails
  no_gain,   // condition 2 fails
  on_trial,  // 1 and 2 hold, its reuse distance is not known yet
  too_slow,  // condition 3 fails
  eligible,
  by_trial,  // no addresses: a trial decides
};
std::string_view eligibility_name(Eligibility eligibility);

// What is known of a program, for status.
struct ProgramView {
  std::uint64_t application = 0;
  Eligibility eligibility = Eligibility::unknown;
  double gap = 0;     // mean over the servers of the last window, bytes: SL_ij
  double ratio = 0;   // of all programs' gap to it
  double spread = 0;  // standard deviation over mean, the larger of SL_i and SL_ij
  double reuse = 0;   // seconds: RD_ij; 0: not known
  double part = 0;    // of a window; 0: no slice of its own
};

class Orchestrator {
 public:
  static constexpr Nanos kRefusal = 10_s;
  static constexpr Nanos kLongestRefusal = 600_s;
  static constexpr int kMisses = 3;
  static constexpr std::uint64_t kFewestGaps = 3;  // of a server in a window, to say anything
  static constexpr double kWorthTrying = 0.02;     // expected gain; less is not tried

  explicit Orchestrator(const OrchestraOptions& options) : options_(options) {}

  // At the end of a window: the reports of all servers that are here, in any fixed order. Returns the objects of the next window;
  // fewer than two: no slices. With `watch` there are never any: only what is known of the programs is brought up to date.
  const std::vector<OrchestraObject>& take(const std::vector<OrchestraSample>& servers, Nanos now,
                                           bool watch = false);
  // The next reports cannot be compared with the last ones.
  void interrupt() { previous_.clear(); }

  [[nodiscard]] const std::vector<OrchestraObject>& objects() const { return objects_; }
  [[nodiscard]] const std::vector<ProgramView>& programs() const { return views_; }
  [[nodiscard]] const SliceTrial& trial() const { return trial_; }
  [[nodiscard]] double jump() const { return jump_; }  // mean over the servers, seconds
  // What slices would gain, or did when they last did not hold, as a fraction of the throughput without them: each server saves
  // the jumps that its programs would not make alone, and what a jump costs is time that it serves in.
  [[nodiscard]] double predicted_gain() const { return predicted_; }
  [[nodiscard]] const OrchestraOptions& options() const { return options_; }

 private:
  struct Standing {
    Eligibility eligibility = Eligibility::unknown;
    int misses = 0;
    Nanos refused_until;
    Nanos refusal = kRefusal;
    double reuse = 0;
  };
  struct Means {
    double mean = 0;
    double deviation = 0;  // over the mean
    std::size_t count = 0;
  };
  using Sample = OrchestraSample;
  static Means means(const std::vector<double>& values);
  void judge(const std::vector<Sample>& change, std::uint64_t application, const Means& all, Nanos now);
  [[nodiscard]] Eligibility first_conditions(const ProgramView& view, std::size_t servers) const;
  void choose_objects();
  void predict(const std::vector<Sample>& change);
  [[nodiscard]] static std::vector<Sample> difference(const std::vector<Sample>& now,
                                                      const std::vector<Sample>& before);

  OrchestraOptions options_;
  std::vector<Sample> previous_;
  std::map<std::uint64_t, Standing> standings_;
  std::vector<ProgramView> views_;
  std::vector<OrchestraObject> candidates_;  // who would get slices
  std::vector<OrchestraObject> objects_;     // who does
  SliceTrial trial_;
  double jump_ = 0;
  double rest_reuse_ = 0;
  double predicted_ = 0;
  bool worth_trying_ = false;
};

}  // namespace tutti
