#include "policy/target/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"

namespace tutti {
namespace {

// Figure 1 of the paper.
ScheduleProblem figure_1() {
  ScheduleProblem problem;
  problem.clients = {"P1", "P2"};
  problem.servers = {"D1", "D2", "D3"};
  problem.transfers = {{"T1", 0, 0, 1}, {"T2", 1, 2, 1}, {"T3", 0, 1, 1}, {"T4", 1, 1, 1}};
  return problem;
}

// As its text has it: two clients, each with a transfer for both of two servers.
ScheduleProblem two_by_two() {
  ScheduleProblem problem;
  problem.clients = {"CN0", "CN1"};
  problem.servers = {"IOS0", "IOS1"};
  problem.transfers = {{"a", 0, 0, 1}, {"b", 0, 1, 1}, {"c", 1, 0, 1}, {"d", 1, 1, 1}};
  return problem;
}

std::uint64_t length(const ScheduleProblem& problem, ScheduleMethod method, std::uint64_t seed = 1) {
  return make_schedule(problem, method, seed).length;
}

// Everything is moved, and nobody takes part in two transfers at once.
void expect_sound(const ScheduleProblem& problem, const Schedule& schedule) {
  std::vector<std::uint64_t> moved(problem.transfers.size());
  std::map<std::pair<bool, std::uint32_t>, std::vector<std::pair<std::uint64_t, std::uint64_t>>> busy;
  for (const ScheduledPart& part : schedule.parts) {
    const ScheduleTransfer& transfer = problem.transfers.at(part.transfer);
    ASSERT_GT(part.length, 0U);
    moved[part.transfer] += part.length;
    EXPECT_LE(part.start + part.length, schedule.length);
    busy[{false, transfer.client}].emplace_back(part.start, part.start + part.length);
    busy[{true, transfer.server}].emplace_back(part.start, part.start + part.length);
  }
  for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_EQ(moved[i], problem.transfers[i].length);
  for (auto& [who, times] : busy) {
    std::sort(times.begin(), times.end());
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i - 1].second, times[i].first);
  }
}

ScheduleProblem random_problem(std::uint64_t seed, std::uint64_t longest) {
  Random random(seed);
  ScheduleProblem problem;
  for (std::uint64_t i = 0; i < random.between(1, 7); ++i) problem.clients.push_back("c");
  for (std::uint64_t i = 0; i < random.between(1, 7); ++i) problem.servers.push_back("s");
  for (std::uint64_t i = 0; i < random.between(1, 40); ++i) {
    problem.transfers.push_back({"t", static_cast<std::uint32_t>(random.below(problem.clients.size())),
                                 static_cast<std::uint32_t>(random.below(problem.servers.size())),
                                 random.between(1, longest)});
  }
  return problem;
}

TEST(Schedule, Figure1TakesThreeStepsInOrderOfArrivalAndTwoAtBest) {
  const ScheduleProblem problem = figure_1();
  ASSERT_TRUE(problem.validate().ok());
  EXPECT_EQ(length(problem, ScheduleMethod::fcfs), 3U);
  EXPECT_EQ(length(problem, ScheduleMethod::first), 3U);
  EXPECT_EQ(length(problem, ScheduleMethod::hcdf), 2U);
  EXPECT_EQ(length(problem, ScheduleMethod::hash), 2U);
  EXPECT_EQ(length(problem, ScheduleMethod::optimum), 2U);
  EXPECT_EQ(schedule_bound(problem), 2U);
}

TEST(Schedule, HighestDegreeFirstMayFindEitherScheduleOfFigure1) {
  for (const ScheduleMethod method : {ScheduleMethod::hdf, ScheduleMethod::hdf_distributed}) {
    std::set<std::uint64_t> lengths;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) lengths.insert(length(figure_1(), method, seed));
    EXPECT_EQ(lengths, (std::set<std::uint64_t>{2, 3}));
  }
}

TEST(Schedule, TheTextOfFigure1HasTheSameLengths) {
  EXPECT_EQ(length(two_by_two(), ScheduleMethod::first), 3U);
  EXPECT_EQ(length(two_by_two(), ScheduleMethod::hash), 2U);
}

TEST(Schedule, EveryMethodMovesEverythingAndNobodyDoesTwoThingsAtOnce) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const std::uint64_t longest : {1U, 9U}) {
      const ScheduleProblem problem = random_problem(seed, longest);
      for (const std::string& name : schedule_method_names()) {
        const auto method = schedule_method(name);
        ASSERT_TRUE(method.ok());
        const Schedule schedule = make_schedule(problem, *method, seed);
        SCOPED_TRACE(name + " seed " + std::to_string(seed));
        expect_sound(problem, schedule);
        EXPECT_GE(schedule.length, schedule_bound(problem));
      }
    }
  }
}

TEST(Schedule, TheOptimumIsAsLongAsTheBusiestIsBusy) {
  for (std::uint64_t seed = 100; seed < 200; ++seed) {
    const ScheduleProblem problem = random_problem(seed, seed % 2 == 0 ? 1 : 1000);
    EXPECT_EQ(length(problem, ScheduleMethod::optimum), schedule_bound(problem)) << "seed " << seed;
  }
}

TEST(Schedule, TransfersOfLengthOneAreNotInterrupted) {
  const ScheduleProblem problem = random_problem(7, 1);
  EXPECT_EQ(make_schedule(problem, ScheduleMethod::optimum).parts.size(), problem.transfers.size());
}

// Eight clients with one block on each of eight servers: the figures of first principles.
TEST(Schedule, FirstMakesAPipelineAndHashNone) {
  ScheduleProblem problem;
  for (std::uint32_t i = 0; i < 8; ++i) {
    problem.clients.push_back("c");
    problem.servers.push_back("s");
  }
  for (std::uint32_t client = 0; client < 8; ++client) {
    for (std::uint32_t server = 0; server < 8; ++server)
      problem.transfers.push_back({"t", client, server, 1});
  }
  EXPECT_EQ(length(problem, ScheduleMethod::first), 15U);
  EXPECT_EQ(length(problem, ScheduleMethod::hash), 8U);
  EXPECT_EQ(length(problem, ScheduleMethod::optimum), 8U);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    sum += 8.0 / static_cast<double>(length(problem, ScheduleMethod::random, seed));
  EXPECT_NEAR(sum / 200, 0.56, 0.03);
}

TEST(Schedule, ProblemsThatMakeNoSenseAreRefused) {
  ScheduleProblem problem = figure_1();
  problem.transfers[0].server = 3;
  EXPECT_EQ(problem.validate().code(), Code::invalid);
  problem = figure_1();
  problem.transfers[0].length = 0;
  EXPECT_EQ(problem.validate().code(), Code::invalid);
  EXPECT_EQ(ScheduleProblem().validate().code(), Code::invalid);
  EXPECT_EQ(schedule_method("quickly").code(), Code::invalid);
}

TEST(Schedule, TableAndPictureShowEveryTransfer) {
  const ScheduleProblem problem = figure_1();
  const Schedule schedule = make_schedule(problem, ScheduleMethod::hash);
  const std::string table = schedule_table(problem, schedule);
  const std::string svg = schedule_svg(problem, schedule, "a < b");
  for (const char* name : {"T1", "T2", "T3", "T4"}) {
    EXPECT_NE(table.find(name), std::string::npos) << table;
    EXPECT_NE(svg.find(name), std::string::npos);
  }
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
}

}  // namespace
}  // namespace tutti
