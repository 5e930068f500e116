#include "policy/request/themis.h"

#include <map>

#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

struct Job {
  std::uint64_t application;
  std::uint32_t user;
  std::uint64_t processes;
};

// The shares of 10,000 draws among jobs that have always something in line.
std::map<std::uint64_t, double> shares(RequestPolicy& policy, const std::vector<Job>& jobs) {
  std::map<std::uint64_t, Job> job_of;
  std::uint64_t id = 0;
  const auto add = [&](const Job& job, std::uint64_t process) {
    QueuedRequest request = read_of(++id, job.application);
    request.user = job.user;
    request.client = 100 * job.application + process;
    job_of.emplace(id, job);
    policy.add(request, 0_s);
  };
  for (const Job& job : jobs) {
    for (std::uint64_t process = 0; process < 8; ++process) add(job, process % job.processes);
  }
  std::map<std::uint64_t, double> got;
  for (int i = 0; i < 10'000; ++i) {
    const Decision decision = policy.next(0_s);
    EXPECT_EQ(decision.kind, Decision::Kind::dispatch);
    const Job job = job_of.at(decision.id);
    got[job.application] += 1e-4;
    policy.served(decision.id, 4_KiB, true, 0_s);
    add(job, 0);
  }
  return got;
}

// Three standard deviations of a share among 10,000 draws are at most 0.015.
constexpr double kChance = 0.015;
const std::vector<Job> kJobs = {{1, 50, 1}, {2, 50, 3}, {3, 60, 4}};

TEST(ThemisPolicy, JobsHaveEqualShares) {
  const auto policy = make_policy("themis;share=job");
  auto got = shares(*policy, kJobs);
  for (const Job& job : kJobs) EXPECT_NEAR(got[job.application], 1.0 / 3, kChance);
}

TEST(ThemisPolicy, SharesBySizeFollowTheProcessesThatAsked) {
  const auto policy = make_policy("themis;share=size");
  auto got = shares(*policy, kJobs);
  EXPECT_NEAR(got[1], 1.0 / 8, kChance);
  EXPECT_NEAR(got[2], 3.0 / 8, kChance);
  EXPECT_NEAR(got[3], 4.0 / 8, kChance);
}

TEST(ThemisPolicy, UsersHaveEqualSharesWhateverTheNumberOfTheirJobs) {
  const auto policy = make_policy("themis;share=user");
  auto got = shares(*policy, kJobs);
  EXPECT_NEAR(got[1], 0.25, kChance);
  EXPECT_NEAR(got[2], 0.25, kChance);
  EXPECT_NEAR(got[3], 0.5, kChance);
}

TEST(ThemisPolicy, WithinAUserSharesMayFollowTheSize) {
  const auto policy = make_policy("themis;share=user_size");
  auto got = shares(*policy, kJobs);
  EXPECT_NEAR(got[1], 0.125, kChance);
  EXPECT_NEAR(got[2], 0.375, kChance);
  EXPECT_NEAR(got[3], 0.5, kChance);
}

TEST(ThemisPolicy, WhatOneDoesNotUseGoesToTheOthers) {
  const auto policy = make_policy("themis;share=user");
  for (std::uint64_t id = 1; id <= 50; ++id) policy->add(read_of(id, 7), 0_s);
  policy->add(read_of(51, 8), 0_s);
  const Ids order = served(*policy, 0_s);
  EXPECT_EQ(order.size(), 51U);
  EXPECT_EQ(policy->next(0_s).kind, Decision::Kind::idle);
}

TEST(ThemisPolicy, AnApplicationIsServedInTheOrderOfArrival) {
  const auto policy = make_policy("themis");
  for (std::uint64_t id = 1; id <= 40; ++id) policy->add(read_of(id, id % 2), 0_s);
  std::map<std::uint64_t, std::uint64_t> last;
  for (const std::uint64_t id : served(*policy, 0_s)) {
    EXPECT_LT(last[id % 2], id);
    last[id % 2] = id;
  }
}

TEST(ThemisPolicy, TheSeedDecides) {
  const auto order = [](const std::string& text) {
    const auto policy = make_policy(text);
    for (std::uint64_t id = 1; id <= 100; ++id) policy->add(read_of(id, id % 5), 0_s);
    return served(*policy, 0_s);
  };
  EXPECT_EQ(order("themis;seed=3"), order("themis;seed=3"));
  EXPECT_NE(order("themis;seed=3"), order("themis;seed=4"));
}

TEST(ThemisPolicy, NamesItsParameters) {
  EXPECT_EQ(make_policy("themis")->name(), "themis;share=job;seed=1;dispatch_depth=16");
  EXPECT_EQ(make_request_policy("themis;share=group").code(), Code::invalid);
}

}  // namespace
}  // namespace tutti
