// The chooser against loads whose cost under each choice is known.
#include "policy/request/chooser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace tutti {
namespace {

// Four applications that always wait; a choice moves `rate` bytes a second. Time passes in samples of 100 ms.
class Load {
 public:
  explicit Load(std::vector<double> rates) : rates(std::move(rates)), chooser(this->rates.size()) {}

  void pass(Nanos length) {
    for (const Nanos end = now + length; now < end;) {
      now += 100_ms;
      const double noise = 1 + noisy * (static_cast<double>(random.below(2001)) - 1000) / 1000;
      const auto moved = static_cast<std::uint64_t>(rates[in_effect()] * 0.1 * noise);
      sample.bytes += Bytes(moved);
      sample.requests += moved / 65536;
      held[in_effect()] += 100_ms;
      if (auto told = chooser.take(sample, now)) plan = *std::move(told);
    }
  }
  [[nodiscard]] std::size_t in_effect() const {
    std::size_t choice = 0;
    for (const PlanStep& step : plan) choice = step.from <= now ? step.choice : choice;
    return choice;
  }

  std::vector<double> rates;
  double noisy = 0;
  Chooser chooser;
  Chooser::Sample sample{4, 64, 0, {}};
  std::vector<PlanStep> plan;
  std::vector<Nanos> held = std::vector<Nanos>(3);
  Nanos now = 5_s;
  Random random{7};
};

constexpr double kRate = 100e6;

TEST(Chooser, StaysWithTheBestAndTriesTheOthersEverLessOften) {
  Load load({kRate, 0.8 * kRate, 0.7 * kRate});
  load.pass(60_s);
  const std::uint64_t early = load.chooser.trials();
  EXPECT_GE(early, 2U);
  load.pass(3540_s);
  EXPECT_EQ(load.chooser.choice(), 0U);
  // Two choices; of each 5 trials until the gap is the longest, and then one in each of those.
  EXPECT_LE(load.chooser.trials(), 2U * (5 + 6));
  EXPECT_LT(load.held[1] + load.held[2], 3600_s / 40);
}

TEST(Chooser, FindsABetterOneSoon) {
  Load load({kRate, 1.25 * kRate, 0.7 * kRate});
  load.pass(20_s);
  EXPECT_EQ(load.chooser.choice(), 1U);
  EXPECT_EQ(load.in_effect(), 1U);
}

TEST(Chooser, ChoosesTheBestOfSeveral) {
  Load load({kRate, 1.2 * kRate, 1.5 * kRate});
  load.pass(120_s);
  EXPECT_EQ(load.chooser.choice(), 2U);
}

TEST(Chooser, ALittleBetterIsNotWorthAChange) {
  Load load({kRate, 1.03 * kRate, kRate});
  load.pass(600_s);
  EXPECT_EQ(load.chooser.choice(), 0U);
}

TEST(Chooser, NoiseDoesNotDecide) {
  Load load({kRate, 0.95 * kRate, 0.95 * kRate});
  load.noisy = 0.2;
  load.pass(3600_s);
  EXPECT_GT(load.held[0], 3600_s * 8 / 10);
}

TEST(Chooser, FollowsALoadThatChanges) {
  Load load({kRate, 1.25 * kRate, kRate});
  load.pass(60_s);
  ASSERT_EQ(load.chooser.choice(), 1U);
  load.rates = {kRate, 0.6 * kRate, 0.9 * kRate};
  load.pass(60_s);
  EXPECT_EQ(load.chooser.choice(), 0U);
  EXPECT_EQ(load.in_effect(), 0U);
}

TEST(Chooser, OneApplicationIsNoReasonToTry) {
  Load load({kRate, 2 * kRate, kRate});
  load.sample.applications = 1;
  load.pass(600_s);
  EXPECT_EQ(load.chooser.trials(), 0U);
}

TEST(Chooser, ATrialThatIsCutOffBySilenceIsForgotten) {
  Load load({kRate, 1.5 * kRate, kRate});
  while (load.chooser.trials() == 0) load.pass(100_ms);
  load.now += 10_s;
  load.pass(100_ms);
  EXPECT_EQ(load.in_effect(), 0U);
  load.pass(60_s);
  EXPECT_EQ(load.chooser.choice(), 1U);
}

TEST(Chooser, CountsThatBeginAnewAreNoMeasure) {
  Load load({kRate, 0.9 * kRate, 0.9 * kRate});
  for (int i = 0; i < 100; ++i) {
    load.pass(700_ms);
    load.sample.bytes = Bytes();
    load.sample.requests = 0;
    load.chooser.interrupt();
  }
  EXPECT_EQ(load.chooser.choice(), 0U);
}

}  // namespace
}  // namespace tutti
