#include "policy/orchestra/orchestrator.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/orchestra/slice_plan.h"

namespace tutti {
namespace {

using Sample = OrchestraSample;

// Data servers that see programs with these gaps, window by window.
class Windows {
 public:
  struct Load {
    std::uint64_t application = 0;
    double gap = 0;     // bytes
    Nanos reuse;        // reported if it had a slice
    double uneven = 0;  // how much the gap grows from server to server
    std::uint64_t requests = 20;
  };
  explicit Windows(OrchestraOptions options, std::size_t servers = 3)
      : orchestrator(options), servers_(servers) {}

  // One window in which all together went `all` bytes between two requests.
  std::size_t pass(const std::vector<Load>& loads, double all, Nanos jump = 8_ms) {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      Sample& server = servers_[i];
      server.addresses = true;
      server.gaps += 100;
      server.distance += Bytes(static_cast<std::uint64_t>(100 * all));
      server.jump = jump;
      server.programs.resize(loads.size());
      for (std::size_t j = 0; j < loads.size(); ++j) {
        const Load& load = loads[j];
        Sample::Program& program = server.programs[j];
        program.application = load.application;
        program.requests += load.requests;
        program.bytes += 1_MiB * load.requests;
        program.gaps += load.requests;
        const double gap = load.gap * (1 + load.uneven * static_cast<double>(i));
        program.distance += Bytes(static_cast<std::uint64_t>(gap * static_cast<double>(load.requests)));
        if (load.reuse == Nanos() || !sliced(load.application)) continue;
        program.reuses += load.requests;
        program.reuse += load.reuse * static_cast<std::int64_t>(load.requests);
      }
    }
    now_ += 500_ms;
    return orchestrator.take(servers_, now_).size();
  }
  bool sliced(std::uint64_t application) const {
    for (const OrchestraObject& object : orchestrator.objects()) {
      if (!object.rest && object.application == application) return true;
    }
    return false;
  }
  Eligibility of(std::uint64_t application) const {
    for (const ProgramView& view : orchestrator.programs()) {
      if (view.application == application) return view.eligibility;
    }
    return Eligibility::unknown;
  }
  void wait(Nanos time) { now_ += time; }

  Orchestrator orchestrator;

 private:
  std::vector<Sample> servers_;
  Nanos now_ = 100_s;
};

OrchestraOptions by_addresses() {
  OrchestraOptions options;
  options.by = OrchestraOptions::By::addresses;
  return options;
}

TEST(Orchestrator, TwoProgramsWithLocalityGetSlicesFirstOnTrial) {
  Windows windows(by_addresses());
  const std::vector<Windows::Load> loads = {{1, 64e3, 3_ms}, {2, 64e3, 3_ms}};
  EXPECT_EQ(windows.pass(loads, 1e9), 0U);  // nothing to compare with yet
  EXPECT_EQ(windows.pass(loads, 1e9), 2U);
  EXPECT_EQ(windows.of(1), Eligibility::on_trial);
  EXPECT_EQ(windows.pass(loads, 1e8), 2U);
  EXPECT_EQ(windows.of(1), Eligibility::eligible);
  EXPECT_EQ(windows.of(2), Eligibility::eligible);
}

TEST(Orchestrator, AProgramThatDoesNotJumpLessAloneGetsNone) {
  Windows windows(by_addresses());
  for (int i = 0; i < 3; ++i) windows.pass({{1, 0.9e9, 3_ms}, {2, 0.9e9, 3_ms}}, 1e9);
  EXPECT_EQ(windows.of(1), Eligibility::no_gain);
  EXPECT_TRUE(windows.orchestrator.objects().empty());
}

TEST(Orchestrator, ServersMustAgree) {
  Windows windows(by_addresses());
  for (int i = 0; i < 3; ++i) windows.pass({{1, 64e3, 3_ms, 1.0}, {2, 64e3, 3_ms}}, 1e9);
  EXPECT_EQ(windows.of(1), Eligibility::uneven);
  EXPECT_EQ(windows.of(2), Eligibility::eligible);
  // The other one is the rest.
  ASSERT_EQ(windows.orchestrator.objects().size(), 2U);
  EXPECT_TRUE(windows.orchestrator.objects()[1].rest);
}

TEST(Orchestrator, OneThatComesBackTooLateLosesItsSliceAndIsTriedAgainLater) {
  Windows windows(by_addresses());
  const std::vector<Windows::Load> loads = {{1, 64e3, 20_ms}, {2, 64e3, 3_ms}};
  for (int i = 0; i < 3; ++i) windows.pass(loads, 1e9);
  EXPECT_EQ(windows.of(1), Eligibility::too_slow);
  EXPECT_FALSE(windows.sliced(1));
  windows.pass(loads, 1e9);
  EXPECT_EQ(windows.of(1), Eligibility::too_slow);
  windows.wait(Orchestrator::kRefusal);
  windows.pass(loads, 1e9);
  EXPECT_EQ(windows.of(1), Eligibility::on_trial);
  EXPECT_TRUE(windows.sliced(1));
}

// ior: together the programs jump farther than one alone, but in slices no farther: the ratio says nothing then, the reuse distance does.
TEST(Orchestrator, OneThatComesBackTooLateLosesItsSliceThoughInSlicesItsRatioIsLow) {
  Windows windows(by_addresses());
  const std::vector<Windows::Load> loads = {{1, 0.5e9, 12_ms}, {2, 0.5e9, 12_ms}};
  for (int i = 0; i < 2; ++i) windows.pass(loads, 1e9);
  EXPECT_EQ(windows.of(1), Eligibility::on_trial);
  EXPECT_EQ(windows.pass(loads, 0.5e9), 0U);
  EXPECT_EQ(windows.of(1), Eligibility::too_slow);
  EXPECT_EQ(windows.pass(loads, 1e9), 0U);
  EXPECT_EQ(windows.of(1), Eligibility::too_slow);
}

TEST(Orchestrator, ThresholdsComeFromTheOptions) {
  OrchestraOptions options = by_addresses();
  options.ratio = 1.05;
  options.seek = 10;
  Windows windows(options);
  for (int i = 0; i < 3; ++i) windows.pass({{1, 0.9e9, 20_ms}, {2, 0.9e9, 20_ms}}, 1e9);
  EXPECT_EQ(windows.of(1), Eligibility::eligible);
}

TEST(Orchestrator, AJumpCostWrongByTwoChangesNoDecisionHere) {
  for (const Nanos jump : {4_ms, 8_ms, 16_ms}) {
    Windows windows(by_addresses());
    for (int i = 0; i < 4; ++i) windows.pass({{1, 64e3, 3_ms}, {2, 64e3, 3_ms}}, 1e9, jump);
    EXPECT_EQ(windows.of(1), Eligibility::eligible);
  }
}

TEST(Orchestrator, AProgramThatIsGoneLosesItsSliceInTheNextWindow) {
  Windows windows(by_addresses());
  const std::vector<Windows::Load> both = {{1, 64e3, 3_ms}, {2, 64e3, 3_ms}};
  for (int i = 0; i < 3; ++i) windows.pass(both, 1e9);
  EXPECT_TRUE(windows.sliced(2));
  EXPECT_EQ(windows.pass({{1, 64e3, 3_ms}, {2, 64e3, 3_ms, 0, 0}}, 1e5), 0U);
}

TEST(Orchestrator, OneWindowThatMissesTheConditionsCostsNothing) {
  Windows windows(by_addresses());
  const std::vector<Windows::Load> both = {{1, 64e3, 3_ms}, {2, 64e3, 3_ms}};
  for (int i = 0; i < 3; ++i) windows.pass(both, 1e9);
  for (int i = 1; i < Orchestrator::kMisses; ++i) EXPECT_EQ(windows.pass(both, 64e3), 2U);
  EXPECT_EQ(windows.pass(both, 64e3), 0U);
}

// mpi-tile-io: it is at one server at a time, so that each sees it seldom, and is faster in slices all the same.
TEST(Orchestrator, ATrialOverrulesAReuseDistanceThatIsTooLong) {
  for (const OrchestraOptions& options : {OrchestraOptions(), by_addresses()}) {
    Orchestrator orchestrator{options};
    std::vector<Sample> servers(2);
    bool sliced = false;
    for (int i = 0; i < 12; ++i) {
      for (Sample& server : servers) {
        server.addresses = true;
        server.jump = 8_ms;
        server.gaps += 100;
        server.far += sliced ? 2 : 60;
        server.distance += sliced ? 1_GiB : 60_GiB;
        server.programs.resize(2);
        for (std::uint64_t j = 0; j < 2; ++j) {
          Sample::Program& program = server.programs[j];
          program.application = j + 1;
          program.requests += 50;
          program.bytes += sliced ? 2_MiB : 1_MiB;
          program.gaps += 50;
          program.distance += 64_KiB * 50;
          program.reuses += sliced ? 50 : 0;
          program.reuse += sliced ? 20_ms * 50 : 0_ms;
        }
      }
      sliced = orchestrator.take(servers, 10_s + 500_ms * i).size() == 2;
    }
    EXPECT_EQ(sliced, options.by == OrchestraOptions::By::both);
  }
}

TEST(SlicePlan, PartsAreInverseToTheReuseDistance) {
  const std::vector<OrchestraObject> objects = {{1, false, 0.002}, {2, false, 0.006}};
  const auto parts = divide_window(objects, false);
  EXPECT_NEAR(parts[0], 0.75, 1e-9);
  EXPECT_NEAR(parts[1], 0.25, 1e-9);
  EXPECT_NEAR(divide_window(objects, true)[1], 0.5, 1e-9);
}

TEST(SlicePlan, WhoIsNotKnownYetCountsAsTheMeanAndNobodyGetsNothing) {
  const auto parts = divide_window(std::vector<OrchestraObject>{{1, false, 0.002}, {2, true, 0}}, false);
  EXPECT_NEAR(parts[0], 0.5, 1e-9);
  const auto far = divide_window(std::vector<OrchestraObject>{{1, false, 0.0001}, {2, true, 10}}, false);
  EXPECT_GT(far[1], 0.02);
}

TEST(SlicePlan, SlicesFollowEachOtherAndFillTheWindows) {
  const std::vector<OrchestraObject> objects = {{1, false, 0.001}, {2, false, 0.002}, {0, true, 0.003}};
  const auto slices = make_slices(objects, false, 10_s, 500_ms, 2);
  ASSERT_EQ(slices.size(), 6U);
  Nanos at = 10_s;
  for (const TimeSlice& slice : slices) {
    EXPECT_EQ(slice.from, at);
    EXPECT_GT(slice.to, slice.from);
    at = slice.to;
  }
  EXPECT_EQ(at, 11_s);
  EXPECT_TRUE(slices[2].rest);
}

// Windows of a load that is served at these rates.
class Trial {
 public:
  Trial(std::uint64_t with, std::uint64_t without) : with_(with), without_(without) {}
  void pass(int windows, std::uint64_t load = 1) {
    for (int i = 0; i < windows; ++i) {
      now_ += 500_ms;
      slices_ = trial.window(slices_, Bytes(slices_ ? with_ : without_), load, true, now_);
      count_ += slices_ ? 1 : 0;
    }
  }
  bool slices() const { return slices_; }
  int count() const { return count_; }
  SliceTrial trial;

 private:
  std::uint64_t with_, without_;
  Nanos now_ = 100_s;
  bool slices_ = false;
  int count_ = 0;
};

TEST(SliceTrial, KeepsTheFaster) {
  Trial better(150, 100);
  better.pass(100);
  EXPECT_TRUE(better.slices());
  EXPECT_GT(better.count(), 85);  // few windows went to trials
  Trial worse(60, 100);
  worse.pass(100);
  EXPECT_FALSE(worse.slices());
  EXPECT_LT(worse.count(), 8);
  EXPECT_GT(worse.trial.trials(), 1U);  // it is tried again
}

TEST(SliceTrial, SlicesThatGainNothingDoNotStay) {
  Trial same(100, 100);
  same.pass(10);
  EXPECT_FALSE(same.slices());
}

// What a window brings depends on which program is ahead in it: two of them say little.
TEST(SliceTrial, ChanceDoesNotDecide) {
  Random random(5);
  int kept = 0;
  int kept_better = 0;
  for (int run = 0; run < 100; ++run) {
    for (const double gain : {1.0, 2.0}) {
      SliceTrial trial;
      bool slices = false;
      int with = 0;
      for (int window = 0; window < 60; ++window) {
        const double bytes = (slices ? gain : 1) * static_cast<double>(random.between(1, 200));
        slices = trial.window(slices, 1_MiB * static_cast<std::uint64_t>(bytes), 1, true, 500_ms * window);
        if (window >= 30) with += slices ? 1 : 0;
      }
      (gain > 1 ? kept_better : kept) += with > 15 ? 1 : 0;
    }
  }
  EXPECT_LE(kept, 8);
  EXPECT_GE(kept_better, 40);
}

TEST(SliceTrial, AnotherSetOfProgramsIsAnotherLoad) {
  Trial trial(150, 100);
  trial.pass(20);
  EXPECT_TRUE(trial.slices());
  trial.pass(1, 2);
  EXPECT_FALSE(trial.slices());
}

TEST(Orchestrator, ADeviceThatHardlyMovesIsNotOneWithoutAddresses) {
  Orchestrator orchestrator{OrchestraOptions()};
  std::vector<Sample> servers(3);
  for (Sample& server : servers) {
    server.addresses = true;
    server.programs.resize(2);
  }
  for (int i = 0; i < 4; ++i) {
    for (Sample& server : servers) {
      for (std::uint64_t j = 0; j < 2; ++j) {
        server.programs[j].application = j + 1;
        server.programs[j].requests += 10;
        server.programs[j].bytes += 1_MiB;
      }
    }
    orchestrator.take(servers, 500_ms * i);
  }
  ASSERT_FALSE(orchestrator.programs().empty());
  EXPECT_EQ(orchestrator.programs().front().eligibility, Eligibility::unknown);
  EXPECT_TRUE(orchestrator.objects().empty());
}

TEST(Orchestrator, WithoutAddressesATrialDecides) {
  Windows windows{OrchestraOptions()};
  // No gaps at all: objects in memory.
  std::vector<Sample> servers(2);
  Orchestrator orchestrator{OrchestraOptions()};
  Nanos now = 10_s;
  bool sliced = false;
  for (int i = 0; i < 12; ++i) {
    for (Sample& server : servers) {
      server.programs.resize(2);
      for (std::uint64_t j = 0; j < 2; ++j) {
        server.programs[j].application = j + 1;
        server.programs[j].requests += 10;
        server.programs[j].bytes += sliced ? 2_MiB : 1_MiB;
      }
    }
    now += 500_ms;
    sliced = orchestrator.take(servers, now).size() == 2;
  }
  EXPECT_TRUE(sliced);
  EXPECT_EQ(orchestrator.programs().front().eligibility, Eligibility::by_trial);
}

}  // namespace
}  // namespace tutti
