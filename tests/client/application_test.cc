#include "client/application.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "tests/client/environment.h"

namespace tutti {
namespace {

TEST(Application, NumbersAreDecimalOrHexadecimalAndAllElseIsAName) {
  EXPECT_EQ(*parse_application("16"), 16U);
  EXPECT_EQ(*parse_application("0x10"), 16U);
  EXPECT_EQ(*parse_application("0X1f"), 31U);
  EXPECT_EQ(*parse_application("0xffffffffffffffff"), ~std::uint64_t{0});
  for (const char* name :
       {"climate", "0x", "0xg", "16 ", "-1", "0x10000000000000000", "18446744073709551616"})
    EXPECT_EQ(*parse_application(name), stable_hash(name)) << name;
}

TEST(Application, NoneHasTheNumberZeroOrAnEmptyName) {
  EXPECT_EQ(parse_application("0").code(), Code::invalid);
  EXPECT_EQ(parse_application("0x0").code(), Code::invalid);
  EXPECT_EQ(parse_application("").code(), Code::invalid);
}

TEST(Application, WhatIsAskedForGoesBeforeEnvironmentLaunchAndDraw) {
  std::map<std::string, std::string> variables = {{"TUTTI_APPLICATION", "0x20"}, {"PMIX_NAMESPACE", "1"}};
  EXPECT_EQ(*choose_application("7", environment_of(variables), 5), 7U);
  EXPECT_EQ(*choose_application("", environment_of(variables), 5), 32U);
  variables.erase("TUTTI_APPLICATION");
  const std::uint64_t launched = *choose_application("", environment_of(variables), 5);
  EXPECT_EQ(launched, *choose_application("", environment_of(variables), 6));
  EXPECT_NE(launched, 5U);
  EXPECT_EQ(*choose_application("", environment_of({}), 5), 5U);
  EXPECT_NE(*choose_application("", environment_of({}), 0), 0U);
}

TEST(Application, AWrongVariableIsNamed) {
  const auto chosen = choose_application("", environment_of({{"TUTTI_APPLICATION", "0"}}), 5);
  EXPECT_EQ(chosen.code(), Code::invalid);
  EXPECT_NE(chosen.status().message().find("TUTTI_APPLICATION"), std::string::npos);
}

TEST(JobIdentity, TwoProgramsInOneAllocationAreTwoLaunches) {
  const auto first = job_identity(environment_of({{"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}}));
  const auto second = job_identity(environment_of({{"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "1"}}));
  EXPECT_FALSE(first.launch.empty());
  EXPECT_NE(first.launch, second.launch);
  EXPECT_EQ(first.job, "9");
  EXPECT_TRUE(job_identity(environment_of({{"SLURM_JOB_ID", "9"}})).launch.empty()) << "a job may run many";
}

TEST(JobIdentity, EveryBatchSystemsJobIsFound) {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"})
    EXPECT_EQ(job_identity(environment_of({{name, "42"}})).job, "42") << name;
  EXPECT_EQ(job_identity(environment_of({})).job, "");
  EXPECT_FALSE(job_identity(environment_of({{"PMIX_NAMESPACE", "x"}})).launch.empty());
  EXPECT_FALSE(job_identity(environment_of({{"PBS_JOBID", "1"}, {"PBS_TASKNUM", "2"}})).launch.empty());
}

}  // namespace
}  // namespace tutti
