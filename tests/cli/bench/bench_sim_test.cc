#include "cli/bench/bench_sim.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(SimBench, CountsTheEventsOfAllReads) {
  SimBenchOptions options;
  options.servers = 2;
  options.clients = 3;
  options.requests = 4;
  options.rounds = 3;
  Nanos now;
  Nanos step = 8_s;
  const auto result = run_sim_bench(options, [&] { return now += (step -= 1_s); });  // 6, 4 and 2 s
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->requests, 12U);
  EXPECT_EQ(result->bytes, 12_MiB);
  EXPECT_EQ(result->real_time, 2_s) << "the fastest turn";
  EXPECT_EQ(result->median_time, 4_s);
  EXPECT_EQ(result->events_per_second, static_cast<double>(result->events) / 2);
}

}  // namespace
}  // namespace tutti
