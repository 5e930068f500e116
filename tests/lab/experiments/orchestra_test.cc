// Orchestrated service on a simulated cluster: slices, and what happens when those who make them fail.
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/experiments/orchestra/heads_picture.h"
#include "lab/experiments/orchestra/testbed.h"
#include "lab/sim/sim_cluster.h"

namespace tutti::orchestra {
namespace {

RunSpec two_readers(std::string policy) {
  RunSpec spec;
  spec.programs.resize(2);
  spec.policy = std::move(policy);
  spec.warm = 2_s;
  spec.length = 5_s;
  return spec;
}

double rate(const RunSpec& spec) {
  const auto outcome = run_once(spec);
  EXPECT_TRUE(outcome.ok()) << outcome.status().to_string();
  return outcome.ok() ? outcome->rate : 0;
}

TEST(Orchestra, TwoProgramsWithLocalityAreFasterInSlices) {
  const auto with = run_once(two_readers(as_the_paper()));
  ASSERT_TRUE(with.ok()) << with.status().to_string();
  EXPECT_GT(with->rate, 1.2 * rate(two_readers("fcfs")));
  EXPECT_GT(with->switches, 0U);
  for (const ProgramOutcome& program : with->programs) EXPECT_GT(program.eligible, 0.8);
  // Requests in service end within a few jumps.
  EXPECT_LT(with->drain, 0.030);
}

TEST(Orchestra, TheDefaultFetchesAheadAndKeepsUpWithALargeReadAhead) {
  RunSpec large = two_readers("fcfs");
  large.read_ahead = 4_MiB;
  EXPECT_GT(rate(two_readers(orchestrated())), 0.97 * rate(large));
  // Nor does it lose much where the processes of a program do not keep in step.
  RunSpec free = two_readers(orchestrated());
  for (ProgramSpec& program : free.programs) program.barrier = false;
  RunSpec large_free = large;
  large_free.programs = free.programs;
  EXPECT_GT(rate(free), 0.95 * rate(large_free));
}

TEST(Orchestra, WritesThatMemoryTakesLoseNextToNothing) {
  RunSpec spec = two_readers(orchestrated());
  spec.length = 10_s;
  for (ProgramSpec& program : spec.programs) program.write = true;
  const double with = rate(spec);
  spec.policy = "fcfs";
  EXPECT_GT(with, 0.96 * rate(spec));
}

TEST(Orchestra, OneProgramAloneIsLeftAlone) {
  RunSpec spec = two_readers(orchestrated());
  spec.programs.resize(1);
  const auto with = run_once(spec);
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->switches, 0U);
  spec.policy = "fcfs";
  EXPECT_GT(with->rate, 0.99 * rate(spec));
}

TEST(Orchestra, WithoutACoordinatorServersServeFirstComeFirstServed) {
  RunSpec spec = two_readers(as_the_paper());
  spec.change = [](SimClusterOptions& options) { options.coordinator_alone = true; };
  spec.watch = [](SimCluster& cluster, Nanos at) {
    if (at == 1500_ms) cluster.stop_coordinator();
  };
  // It is gone before anything is measured; two windows later nothing of it holds.
  spec.warm = 2600_ms;
  const auto gone = run_once(spec);
  ASSERT_TRUE(gone.ok()) << gone.status().to_string();
  RunSpec base = two_readers("fcfs");
  base.warm = spec.warm;
  const double without = rate(base);
  EXPECT_NEAR(gone->rate / without, 1, 0.05);
  // Nobody waited for more than two windows.
  for (const ProgramOutcome& program : gone->programs)
    EXPECT_LT(*std::max_element(program.times.begin(), program.times.end()), 1.1);
}

// Whether the programs come back soon enough for slices is not the question: on this testbed their reuse distance is close to the cost
// of a jump.
TEST(Orchestra, ACoordinatorThatComesBackTakesOver) {
  RunSpec spec = two_readers(as_the_paper(";seek=1000"));
  spec.length = 8_s;
  spec.warm = 6_s;
  spec.change = [](SimClusterOptions& options) { options.coordinator_alone = true; };
  spec.watch = [](SimCluster& cluster, Nanos at) {
    if (at == 1500_ms) cluster.stop_coordinator();
    if (at == 4_s) cluster.start_coordinator();
  };
  const auto back = run_once(spec);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  // Two seconds later the gain is there.
  EXPECT_GT(back->rate, 1.2 * rate(two_readers("fcfs")));
}

TEST(Orchestra, AProgramThatDiesLosesItsSlice) {
  RunSpec spec = two_readers(as_the_paper());
  spec.programs[1].ends = 2_s;
  spec.warm = 3500_ms;
  const auto outcome = run_once(spec);
  ASSERT_TRUE(outcome.ok());
  RunSpec alone = two_readers("fcfs");
  alone.programs.resize(1);
  alone.warm = spec.warm;
  EXPECT_GT(outcome->programs[0].rate, 0.97 * rate(alone));
}

TEST(Orchestra, TheSameSeedGivesTheSameRun) {
  RunSpec spec = two_readers(orchestrated());
  spec.length = 3_s;
  EXPECT_EQ(rate(spec), rate(spec));
}

TEST(HeadsPicture, HasAPanelForEachServerAndALineForEachColumn) {
  const std::string svg =
      heads_picture({{2, "without", {{0_s, 0_B}, {1_s, 1_GiB}}}, {5, "with", {{0_s, 0_B}}}});
  EXPECT_NE(svg.find("data server 2"), std::string::npos);
  EXPECT_NE(svg.find("data server 5"), std::string::npos);
  EXPECT_NE(svg.find("polyline"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace tutti::orchestra
