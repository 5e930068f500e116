#include "cli/bench/bench_queue.h"

#include <gtest/gtest.h>

#include "policy/request/policy.h"

namespace tutti {
namespace {

TEST(BenchQueue, MeasuresEveryPolicyAtEveryDepth) {
  Nanos clock;
  QueueBenchOptions options;
  options.pairs = 1000;
  options.deepest = 10'000;
  const auto result = bench_queue([&clock] { return clock += 1_ms; }, options);
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  const nlohmann::json& measured = result->at("measured");
  for (const std::string& name : request_policy_names()) {
    EXPECT_DOUBLE_EQ(measured.at(name + "_pairs_per_second_100").get<double>(), 1'000'000) << name;
    EXPECT_TRUE(measured.contains(name + "_pairs_per_second_10k")) << name;
    EXPECT_FALSE(measured.contains(name + "_pairs_per_second_1m")) << name;
  }
  for (const char* name : {"window_rotated", "window_smallest", "window_adaptive"}) {
    EXPECT_TRUE(measured.contains(std::string(name) + "_pairs_per_second_10k")) << name;
  }
  EXPECT_TRUE(measured.contains("statistics_nanoseconds"));  // which has no row
  EXPECT_EQ(result->at("rows").size(), 2 * (measured.size() - 1));
}

}  // namespace
}  // namespace tutti
