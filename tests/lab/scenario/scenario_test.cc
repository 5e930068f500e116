#include "lab/scenario/scenario.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lab/scenario/scenario_report.h"

namespace tutti {
namespace {

constexpr std::string_view kTwo = R"(
name = "two"
[cluster]
servers = 2
stripe_size = "4KiB"
[[application]]
name = "a"
processes = 2
request = "64KiB"
requests = 4
[[application]]
name = "b"
operation = "write"
start = "5ms"
request = "32KiB"
requests = 2
file = "own"
sync = true
)";

Scenario parsed(std::string_view text) {
  auto scenario = parse_scenario(text, "test.toml");
  EXPECT_TRUE(scenario.ok()) << scenario.status().to_string();
  return *scenario;
}

TEST(Scenario, RunsEveryRequestOfEveryApplication) {
  const auto result = run_scenario(parsed(kTwo));
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  ASSERT_EQ(result->applications.size(), 2U);
  EXPECT_EQ(result->applications[0].requests, 8U);
  EXPECT_EQ(result->applications[0].bytes, 512_KiB);
  EXPECT_EQ(result->applications[1].bytes, 64_KiB);
  EXPECT_GE(result->applications[1].start, 5_ms);
  EXPECT_EQ(result->servers[0].bytes_read + result->servers[1].bytes_read, 512_KiB);
  EXPECT_EQ(result->servers[0].bytes_written + result->servers[1].bytes_written, 64_KiB);
  for (const Nanos finish : result->applications[0].server_finish) EXPECT_GT(finish, Nanos());
}

TEST(Scenario, TheSameSeedGivesTheSameBytes) {
  Scenario scenario = parsed(kTwo);
  scenario.applications[0].pattern = AccessPattern::random;
  scenario.applications[0].start_jitter = 10_ms;
  const auto text = [](const Scenario& each) {
    const auto result = run_scenario(each);
    EXPECT_TRUE(result.ok());
    return to_json(each, *result) + to_text(each, *result);
  };
  const std::string first = text(scenario);
  EXPECT_EQ(first, text(scenario));
  scenario.cluster.seed = 2;
  EXPECT_NE(first, text(scenario));
}

TEST(Scenario, AnUnknownKeyIsRefusedWithItsLine) {
  const auto scenario = parse_scenario("[cluster]\nserver = 2\n[[application]]\nname='a'\n", "x.toml");
  ASSERT_EQ(scenario.code(), Code::invalid);
  EXPECT_NE(scenario.status().message().find("x.toml:2"), std::string::npos) << scenario.status().message();
  EXPECT_NE(scenario.status().message().find("servers"), std::string::npos) << scenario.status().message();
}

TEST(Scenario, BadValuesAreRefused) {
  EXPECT_EQ(parse_scenario("", "x").code(), Code::invalid);
  EXPECT_EQ(parse_scenario("[[application]]\nstripe_size = 0\n", "x").code(), Code::invalid);
  EXPECT_EQ(parse_scenario("[[application]]\npattern = 'zigzag'\n", "x").code(), Code::invalid);
  EXPECT_EQ(parse_scenario("[cluster]\npolicy='nosuch'\n[[application]]\n", "x").code(), Code::invalid);
  EXPECT_EQ(parse_scenario("[cluster]\ntarget_order='nosuch'\n[[application]]\n", "x").code(), Code::invalid);
  EXPECT_EQ(parse_scenario("[[application]]\nname='a'\n[[application]]\nname='a'\n", "x").code(),
            Code::invalid);
}

TEST(Scenario, AStoppedServerDelaysButLosesNothing) {
  std::string text(kTwo);
  text += "[[event]]\naction='stop'\nat='1ms'\nfor='2s'\nserver=1\n";
  const auto result = run_scenario(parsed(text));
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->applications[0].requests, 8U);
  EXPECT_EQ(result->applications[0].failed, 0U) << result->applications[0].first_error;
  EXPECT_GE(result->duration, 2_s);
}

TEST(Scenario, AllExamplesParse) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_SCENARIOS)) {
    const auto scenario = load_scenario(entry.path().string());
    EXPECT_TRUE(scenario.ok()) << scenario.status().to_string();
    ++count;
  }
  EXPECT_GE(count, 4);
}

}  // namespace
}  // namespace tutti
