#include "policy/request/io_sets.h"

#include <map>

#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

TEST(IoSetsPolicy, SetsAreOrdersOfMagnitude) {
  EXPECT_EQ(IoSetsPolicy::set_of(1_s), 0);
  EXPECT_EQ(IoSetsPolicy::set_of(3_s), 0);
  EXPECT_EQ(IoSetsPolicy::set_of(4_s), 1);
  EXPECT_EQ(IoSetsPolicy::set_of(10_s), 1);
  EXPECT_EQ(IoSetsPolicy::set_of(31_s), 1);
  EXPECT_EQ(IoSetsPolicy::set_of(32_s), 2);
  EXPECT_EQ(IoSetsPolicy::set_of(300_ms), -1);
  EXPECT_EQ(IoSetsPolicy::set_of(0_s), -3);
  EXPECT_EQ(IoSetsPolicy::set_of(Nanos::max()), 6);
}

// A phase of one request at each of these times, served at once.
void show_phases(RequestPolicy& policy, std::uint64_t application, std::uint64_t& id, Nanos first,
                 Nanos between, int phases) {
  for (int i = 0; i < phases; ++i) {
    policy.add(read_of(++id, application), first + between * i);
    ASSERT_EQ(served(policy, first + between * i), (Ids{id}));
  }
}

TEST(IoSetsPolicy, TwoApplicationsOfOneSetAreServedOneAfterTheOther) {
  const auto policy = make_policy("io_sets;hold=5");
  policy->add(read_of(1, 8), 0_s);
  policy->add(read_of(2, 7), 0_s);
  policy->add(read_of(3, 8), 0_s);
  policy->add(read_of(4, 7), 0_s);
  EXPECT_EQ(dispatched(*policy, 0_s), (Ids{1, 3}));  // 8 came first
  EXPECT_EQ(policy->next(1_ms).kind, Decision::Kind::idle);
  finish(*policy, {1, 3}, 2_ms);
  // Its phase may go on.
  expect_wait(*policy, 2_ms, 7_ms);
  policy->add(read_of(5, 8), 4_ms);
  EXPECT_EQ(served(*policy, 4_ms), (Ids{5}));
  expect_wait(*policy, 5_ms, 9_ms);
  EXPECT_EQ(dispatched(*policy, 9_ms), (Ids{2, 4}));
  policy->add(read_of(6, 8), 10_ms);
  EXPECT_EQ(policy->next(10_ms).kind, Decision::Kind::idle);
}

struct Habit {
  std::uint64_t application;
  Nanos characteristic_time;
};

// Three phases of each before `now`, so that the next one is due then.
void learn(RequestPolicy& policy, std::uint64_t& id, Nanos now, const std::vector<Habit>& habits) {
  std::multimap<Nanos, std::uint64_t> phases;
  for (const Habit& habit : habits) {
    for (int ago = 1; ago <= 3; ++ago)
      phases.emplace(now - habit.characteristic_time * ago, habit.application);
  }
  for (const auto& [time, application] : phases) show_phases(policy, application, id, time, 0_s, 1);
}

TEST(IoSetsPolicy, LearnsTheCharacteristicTimeFromTheStartsOfPhases) {
  const auto served_at_once = [](Nanos one, Nanos other) {
    const auto policy = make_policy("io_sets");
    std::uint64_t id = 0;
    learn(*policy, id, 200_s, {{7, one}, {8, other}});
    policy->add(read_of(101, 7), 200_s);
    policy->add(read_of(102, 8), 200_s);
    return dispatched(*policy, 200_s).size();
  };
  EXPECT_EQ(served_at_once(10_s, 9_s), 1U);
  EXPECT_EQ(served_at_once(10_s, 30_s), 1U);
  EXPECT_EQ(served_at_once(10_s, 1_s), 2U);
  EXPECT_EQ(served_at_once(10_s, 50_s), 2U);
}

TEST(IoSetsPolicy, RequestsOfOnePhaseDoNotCountAsPhases) {
  const auto policy = make_policy("io_sets;phase_gap=100");
  std::uint64_t id = 0;
  // Phases every 10 s, of 50 requests 50 ms apart, and of one.
  for (int phase = 0; phase < 4; ++phase) {
    show_phases(*policy, 7, id, 100_s + 10_s * phase, 50_ms, 50);
    show_phases(*policy, 8, id, 105_s + 10_s * phase, 50_ms, 1);
  }
  policy->add(read_of(1001, 7), 140_s);
  policy->add(read_of(1002, 8), 140_s);
  EXPECT_EQ(dispatched(*policy, 140_s), (Ids{1001}));  // one set
}

TEST(IoSetsPolicy, SetsShareTheBytesByTheirPriorities) {
  const auto policy = make_policy("io_sets;dispatch_depth=1");
  std::uint64_t id = 0;
  const Nanos now = 500_s;
  learn(*policy, id, now, {{7, 10_s}, {8, 1_s}, {9, 100_s}});
  std::map<std::uint64_t, std::uint64_t> application_of;
  for (int i = 0; i < 12'000; ++i) {
    for (const std::uint64_t application : {7U, 8U, 9U}) {
      policy->add(read_of(++id, application), now);
      application_of[id] = application;
    }
  }
  std::map<std::uint64_t, double> got;
  for (int i = 0; i < 11'100; ++i) {
    const Decision decision = policy->next(now);
    ASSERT_EQ(decision.kind, Decision::Kind::dispatch);
    got[application_of[decision.id]] += 1;
    policy->served(decision.id, 4_KiB, true, now);
  }
  EXPECT_NEAR(got[8], 10'000, 20);
  EXPECT_NEAR(got[7], 1'000, 10);
  EXPECT_NEAR(got[9], 100, 5);
}

TEST(IoSetsPolicy, ASetThatHadNothingToDoSavesNothing) {
  const auto policy = make_policy("io_sets;dispatch_depth=1");
  std::uint64_t id = 0;
  const Nanos now = 200_s;
  learn(*policy, id, now, {{7, 10_s}, {8, 1_s}});
  for (int i = 0; i < 1'000; ++i) policy->add(read_of(++id, 8), now);
  EXPECT_EQ(served(*policy, now).size(), 1'000U);
  const std::uint64_t first = id + 1;
  for (int i = 0; i < 20; ++i) policy->add(read_of(++id, 7), now);
  for (int i = 0; i < 20; ++i) policy->add(read_of(++id, 8), now);
  const Ids order = served(*policy, now);
  ASSERT_EQ(order.size(), 40U);
  int before_eight_is_done = 0;
  for (std::size_t at = 0; at < 22; ++at) before_eight_is_done += order[at] < first + 20 ? 1 : 0;
  EXPECT_LE(before_eight_is_done, 3);
}

TEST(IoSetsPolicy, NamesItsParameters) {
  EXPECT_EQ(make_policy("io_sets")->name(), "io_sets;phase_gap=100;hold=5;unknown=1000;dispatch_depth=16");
  EXPECT_EQ(make_request_policy("io_sets;hold=0").code(), Code::invalid);
}

}  // namespace
}  // namespace tutti
