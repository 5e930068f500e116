#include "policy/gate/backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::gate {
namespace {

using Step = Backoff::Step;

BackoffOptions options() {
  BackoffOptions options;
  options.data_size = Bytes(3'000'000);
  options.threshold = Bytes(30'000'000);
  options.max_count = 4;
  options.starting_exponent = 1;
  options.time_constant = 1_s;
  options.fixed_sleep = 500_ms;
  options.pause = 100_ms;
  return options;
}

// One probing in which the probes take these times; returns the step after it.
Step probing(Backoff& backoff, std::vector<Nanos> times) {
  EXPECT_EQ(backoff.next().kind, Step::prime);
  EXPECT_EQ(backoff.next().size, 256_KiB);
  backoff.done(1_s);  // of priming nothing is concluded
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i > 0) {
      EXPECT_EQ(backoff.next().kind, Step::pause);
      EXPECT_EQ(backoff.next().duration, 100_ms);
      backoff.done(100_ms);
    }
    EXPECT_EQ(backoff.next().kind, Step::probe);
    EXPECT_EQ(backoff.next().size, Bytes(3'000'000));
    backoff.done(times[i]);
  }
  return backoff.next();
}

TEST(Backoff, AQuietFileSystemIsWrittenToAfterOneProbing) {
  Backoff backoff(options(), Random(1));
  EXPECT_EQ(probing(backoff, {50_ms, 60_ms, 100_ms}).kind, Step::proceed);
  EXPECT_EQ(backoff.count(), 1U);
  EXPECT_EQ(backoff.rate(), Bytes(30'000'000));
  EXPECT_FALSE(backoff.gave_up());
}

TEST(Backoff, TheSlowestProbeCounts) {
  Backoff backoff(options(), Random(1));
  EXPECT_EQ(probing(backoff, {50_ms, 101_ms, 50_ms}).kind, Step::sleep);
  EXPECT_LT(backoff.rate(), Bytes(30'000'000));
}

TEST(Backoff, SleepsAreBelowThePowerOfTheBaseAndGrow) {
  std::vector<Nanos> longest(3);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Backoff backoff(options(), Random(seed));
    for (std::size_t round = 0; round < 3; ++round) {
      const Step step = probing(backoff, {1_s, 1_s, 1_s});
      ASSERT_EQ(step.kind, Step::sleep);
      // Whole numbers of the time constant, beginning with 0, below 2^(1 + round), and the fixed sleep.
      const Nanos chosen = step.duration - 500_ms;
      EXPECT_EQ(chosen.count() % (1_s).count(), 0);
      EXPECT_GE(chosen, Nanos());
      EXPECT_LT(chosen, 1_s * (std::int64_t{2} << round));
      longest[round] = std::max(longest[round], chosen);
      backoff.done(step.duration);
    }
  }
  EXPECT_EQ(longest, (std::vector<Nanos>{1_s, 3_s, 7_s}));
}

TEST(Backoff, ProceedsAfterTheMaximumCount) {
  Backoff backoff(options(), Random(3));
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(probing(backoff, {1_s, 1_s, 1_s}).kind, Step::sleep);
    backoff.done(1_s);
  }
  EXPECT_EQ(probing(backoff, {1_s, 1_s, 1_s}).kind, Step::proceed);
  EXPECT_EQ(backoff.count(), 4U);
  EXPECT_TRUE(backoff.gave_up());
}

TEST(Backoff, AFailedProbeIsABusyFileSystem) {
  Backoff backoff(options(), Random(3));
  backoff.failed();
  EXPECT_EQ(backoff.next().kind, Step::sleep);
  EXPECT_EQ(backoff.count(), 1U);
}

TEST(Backoff, WithoutPrimingAndPausesOnlyProbesAreWritten) {
  BackoffOptions bare = options();
  bare.priming = Bytes();
  bare.pause = Nanos();
  bare.probes = 2;
  Backoff backoff(bare, Random(3));
  EXPECT_EQ(backoff.next().kind, Step::probe);
  backoff.done(1_ms);
  EXPECT_EQ(backoff.next().kind, Step::probe);
  backoff.done(1_ms);
  EXPECT_EQ(backoff.next().kind, Step::proceed);
}

TEST(Backoff, TheSameSeedSleepsTheSame) {
  Backoff one(options(), Random(7));
  Backoff two(options(), Random(7));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(probing(one, {1_s, 1_s, 1_s}).duration, probing(two, {1_s, 1_s, 1_s}).duration);
    one.done(Nanos());
    two.done(Nanos());
  }
}

TEST(Backoff, HugeExponentsDoNotOverflow) {
  BackoffOptions wild = options();
  wild.base = 1000;
  wild.starting_exponent = 32;
  wild.max_count = 1'000'000;
  Backoff backoff(wild, Random(1));
  for (int round = 0; round < 100; ++round) {
    const Step step = probing(backoff, {1_s, 1_s, 1_s});
    ASSERT_EQ(step.kind, Step::sleep);
    ASSERT_LE(step.duration, 86'400_s + 500_ms);
    ASSERT_GE(step.duration, 500_ms);
    backoff.done(step.duration);
  }
}

TEST(BackoffOptions, TextIsReadAndWritten) {
  const auto read = BackoffOptions::parse("threshold=80000000;max_count=3;pause_ms=10;priming=64KiB");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->threshold, Bytes(80'000'000));
  EXPECT_EQ(read->max_count, 3U);
  EXPECT_EQ(read->pause, 10_ms);
  EXPECT_EQ(read->priming, 64_KiB);
  EXPECT_EQ(read->written_by_probing(), Bytes(9'000'000) + 64_KiB);
  const auto again = BackoffOptions::parse(read->to_string());
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->to_string(), read->to_string());
  EXPECT_EQ(BackoffOptions::parse("max_count=0").code(), Code::invalid);
  EXPECT_EQ(BackoffOptions::parse("colour=red").code(), Code::invalid);
  EXPECT_TRUE(BackoffOptions::parse("").ok());
}

}  // namespace
}  // namespace tutti::gate
