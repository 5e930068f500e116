// Small versions of the experiments: the direction of what they show, and that they repeat.
#include "lab/experiments/experiment.h"

#include <gtest/gtest.h>

#include "lab/experiments/window/lab_policy.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

Report run(const std::string& name) {
  ExperimentOptions options;
  options.quick = true;
  const auto experiment = find_experiment(name);
  EXPECT_TRUE(experiment.ok());
  auto report = (*experiment)->run(options);
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  return report.ok() ? *report : Report();
}

double figure(const Report& report, const std::string& name) {
  for (const Figure& each : report.figures) {
    if (each.name == name) return each.value.get<double>();
  }
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

TEST(Experiments, AnUnknownNameIsRefusedWithTheNearest) {
  const auto found = find_experiment("coord-spred");
  ASSERT_EQ(found.code(), Code::not_found);
  EXPECT_NE(found.status().message().find("coord-spread"), std::string::npos);
}

TEST(Experiments, ServersFinishTogetherUnderCoordination) {
  const Report report = run("coord-spread");
  EXPECT_GT(figure(report, "hdd_reduction"), 0.15);
  EXPECT_GT(figure(report, "ssd_reduction"), 0.1);
  EXPECT_GT(figure(report, "hdd_spread_fcfs"), 2 * figure(report, "hdd_spread_window"));
  EXPECT_GT(figure(report, "ssd_spread_fcfs"), 2 * figure(report, "ssd_spread_window"));
}

TEST(Experiments, MoreApplicationsGainMore) {
  const Report report = run("coord-apps");
  EXPECT_GT(figure(report, "hdd_letter_min"), 0);
  EXPECT_GT(figure(report, "ssd_letter_min"), 0);
  EXPECT_GT(figure(report, "ssd_letter_max"), figure(report, "ssd_letter_min"));
  EXPECT_GT(figure(report, "default_worst_hdd"), -0.05);
  EXPECT_GT(figure(report, "default_worst_ssd"), -0.05);
}

TEST(Experiments, CoordinatedCompletionHardlyGrowsWithServers) {
  const Report report = run("coord-servers");
  EXPECT_LT(figure(report, "hdd_flatness"), 1.3);
  EXPECT_LT(figure(report, "ssd_flatness"), 1.3);
  EXPECT_GT(figure(report, "default_worst"), -0.1);
}

TEST(Experiments, TheDefaultWindowBoundsTheTail) {
  const Report report = run("coord-window");
  EXPECT_LT(figure(report, "p99_worst_over_fcfs"), 3);
  EXPECT_GT(figure(report, "default_worst"), -0.1);
}

TEST(Experiments, TheFieldIsMeasuredOverCommonMixes) {
  const Report report = run("coord-field");
  EXPECT_EQ(figure(report, "mixes"), 2);
  EXPECT_LT(figure(report, "worst_over_best"), 1.3);
}

// Random reads of 256 KiB on disks: fcfs gives the disk more to choose from, and auto has to find that out.
TEST(Experiments, AutoTakesWhatServesBetter) {
  const auto completion = [](const std::string& policy) {
    Scenario scenario = make_testbed(Medium::hdd, 2, policy, 1);
    scenario.cluster.coordinated = true;
    ApplicationSpec reads;
    reads.processes = 4;
    reads.request = 256_KiB;
    reads.requests = 400;
    reads.pattern = AccessPattern::random;
    reads.layout.stripe_size = 1_MiB;
    add_applications(scenario, reads, 4);
    settle(scenario);
    const auto result = run_scenario(scenario);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? mean_completion(*result) : 0;
  };
  const double fcfs = completion("fcfs");
  const double window = completion(default_window(Medium::hdd));
  ASSERT_GT(window, 1.1 * fcfs);
  EXPECT_LT(completion(default_auto(Medium::hdd)), (fcfs + window) / 2);
}

TEST(Experiments, TheFormulasHold) { EXPECT_LT(figure(run("coord-model"), "worst_error"), 0.06); }

TEST(Experiments, EveryKindOfSynchronizationGains) {
  for (const Figure& each : run("coord-sync").figures) EXPECT_GT(each.value.get<double>(), 0) << each.name;
}

TEST(Experiments, TurnsAreFairerAndSmallBottlenecksFirstIsFaster) {
  const Report report = run("coord-beyond");
  EXPECT_GT(figure(report, "jain_rotated"), figure(report, "jain_plain"));
  EXPECT_GT(figure(report, "smallest_first_reduction"), 0);
  EXPECT_GT(figure(report, "imbalanced_reduction"), 0);
  EXPECT_LT(figure(report, "mean_over_bound"), 1.3);
}

TEST(Experiments, ARunRepeatsToTheByteWhateverTheThreads) {
  const auto experiment = find_experiment("coord-sync");
  ASSERT_TRUE(experiment.ok());
  ExperimentOptions options;
  options.quick = true;
  const auto text = [&](unsigned threads, std::uint64_t seed) {
    options.threads = threads;
    options.seed = seed;
    const auto report = (*experiment)->run(options);
    EXPECT_TRUE(report.ok());
    return to_json({(*experiment)->name, (*experiment)->shows, seed}, *report).dump();
  };
  const std::string first = text(1, 1);
  EXPECT_EQ(first, text(3, 1));
  EXPECT_NE(first, text(1, 2));
}

// Two servers; the long one of each comes first by number. By hand: 1 before 0 gives (1 + 4) / 2, the reverse (3 + 4) / 2.
TEST(BestOrder, TheSmallestBottleneckGoesFirst) {
  EXPECT_EQ(best_order({{3, 1}, {1, 1}}), (std::vector<std::size_t>{1, 0}));
}

// The second application does not touch the loaded server: it is done at 2, whoever is first there.
TEST(BestOrder, CountsOnlyServersThatAnApplicationUses) {
  EXPECT_EQ(best_order({{5, 1}, {0, 2}}), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(best_order({{1, 1}, {0, 5}}), (std::vector<std::size_t>{0, 1}));
}

}  // namespace
}  // namespace tutti
