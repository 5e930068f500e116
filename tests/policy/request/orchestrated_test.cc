#include "policy/request/orchestrated.h"

#include "policy/request/window_options.h"
#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

constexpr Nanos kStart = 100_s;

// As the paper has it: who has no slice is served first come, first served.
std::unique_ptr<RequestPolicy> make_orchestrated(const std::string& parameters = "") {
  const bool named = parameters.find(";rest=") != std::string::npos;
  return make_policy("orchestrated;rotational=true" + parameters + (named ? "" : ";rest=arrival"));
}

// Programs 1 and 2 have 250 ms each from kStart on, twice.
Advice two_slices() {
  Advice advice;
  advice.expiry = kStart + 1_s;
  for (int i = 0; i < 2; ++i) {
    const Nanos from = kStart + 500_ms * i;
    advice.slices.push_back({1, false, from, from + 250_ms});
    advice.slices.push_back({2, false, from + 250_ms, from + 500_ms});
  }
  return advice;
}

TEST(OrchestratedPolicy, ServesFirstComeFirstServedWithoutSlices) {
  const auto policy = make_orchestrated();
  for (std::uint64_t id = 1; id <= 4; ++id) policy->add(read_of(id, id % 2), kStart);
  EXPECT_EQ(served(*policy, kStart), (Ids{1, 2, 3, 4}));
}

TEST(OrchestratedPolicy, ReleasesOnlyTheObjectWhoseSliceItIs) {
  const auto policy = make_orchestrated(";idle=wait");
  policy->advise(two_slices(), kStart);
  for (std::uint64_t id = 1; id <= 4; ++id) policy->add(read_of(id, 1 + id % 2), kStart);
  EXPECT_EQ(served(*policy, kStart), (Ids{2, 4}));
  expect_wait(*policy, kStart + 1_ms, kStart + 250_ms);
  EXPECT_EQ(served(*policy, kStart + 250_ms), (Ids{1, 3}));
  EXPECT_EQ(policy->counters().switches, 1U);
}

TEST(OrchestratedPolicy, TheRestHasOneSliceTogether) {
  const auto policy = make_orchestrated(";idle=wait");
  Advice advice;
  advice.expiry = kStart + 1_s;
  advice.slices = {{1, false, kStart, kStart + 100_ms}, {0, true, kStart + 100_ms, kStart + 500_ms}};
  policy->advise(advice, kStart);
  policy->add(read_of(1, 7), kStart);
  policy->add(read_of(2, 1), kStart);
  policy->add(read_of(3, 8), kStart);
  EXPECT_EQ(served(*policy, kStart), (Ids{2}));
  EXPECT_EQ(served(*policy, kStart + 100_ms), (Ids{1, 3}));
  EXPECT_TRUE(policy->dedicated(7, kStart + 200_ms)->rest);
  EXPECT_FALSE(policy->dedicated(1, kStart + 200_ms));
  EXPECT_EQ(policy->dedicated(1, kStart + 50_ms)->since, kStart);
}

TEST(OrchestratedPolicy, WhoIsInNoPlanIsServedAtAnyTime) {
  const auto policy = make_orchestrated();
  policy->advise(two_slices(), kStart);
  policy->add(read_of(1, 9), kStart);
  EXPECT_EQ(served(*policy, kStart), (Ids{1}));
}

TEST(OrchestratedPolicy, FailsOpenWhenNothingIsAnnouncedForTwoWindows) {
  const auto policy = make_orchestrated(";idle=wait");
  policy->advise(two_slices(), kStart);
  policy->add(read_of(1, 2), kStart + 900_ms);
  policy->add(read_of(2, 1), kStart + 900_ms);
  EXPECT_EQ(served(*policy, kStart + 900_ms), (Ids{1}));
  expect_wait(*policy, kStart + 900_ms, kStart + 1_s);
  EXPECT_EQ(served(*policy, kStart + 1_s), (Ids{2}));
}

TEST(OrchestratedPolicy, AnAnnouncementThatComesLateCountsFromThenOn) {
  const auto policy = make_orchestrated(";idle=wait");
  policy->add(read_of(1, 1), kStart);
  EXPECT_EQ(served(*policy, kStart), (Ids{1}));
  policy->advise(two_slices(), kStart + 300_ms);
  policy->add(read_of(2, 1), kStart + 300_ms);
  policy->add(read_of(3, 2), kStart + 300_ms);
  EXPECT_EQ(served(*policy, kStart + 300_ms), (Ids{3}));
  EXPECT_EQ(served(*policy, kStart + 500_ms), (Ids{2}));
}

TEST(OrchestratedPolicy, AtASwitchWhatIsInServiceEndsFirst) {
  const auto policy = make_orchestrated(";idle=wait");
  policy->advise(two_slices(), kStart);
  policy->add(read_of(1, 1), kStart);
  EXPECT_EQ(dispatched(*policy, kStart), (Ids{1}));
  policy->add(read_of(2, 2), kStart + 250_ms);
  EXPECT_EQ(dispatched(*policy, kStart + 250_ms), Ids{});
  policy->served(1, 4_KiB, true, kStart + 253_ms);
  EXPECT_EQ(dispatched(*policy, kStart + 253_ms), (Ids{2}));
  EXPECT_EQ(policy->counters().drain, 3_ms);
  EXPECT_EQ(policy->counters().longest_drain, 3_ms);
}

TEST(OrchestratedPolicy, ARequestInServiceThatNeverEndsHoldsNobodyUpForLong) {
  const auto policy = make_orchestrated(";idle=wait");
  policy->advise(two_slices(), kStart);
  policy->add(read_of(1, 1), kStart);
  EXPECT_EQ(dispatched(*policy, kStart), (Ids{1}));
  policy->add(read_of(2, 2), kStart + 250_ms);
  const Decision waits = policy->next(kStart + 250_ms);
  ASSERT_EQ(waits.kind, Decision::Kind::wait);
  EXPECT_LE(waits.until, kStart + 320_ms);
  EXPECT_EQ(dispatched(*policy, waits.until), (Ids{2}));
}

TEST(OrchestratedPolicy, StartsNothingThatWouldOutlastTheSlice) {
  const auto policy = make_orchestrated(";idle=wait;dispatch_depth=1");
  policy->advise(two_slices(), kStart);
  Nanos now = kStart;
  std::uint64_t id = 0;
  // Each takes 30 ms: what would end after 250 ms is not begun.
  std::size_t begun = 0;
  for (;; ++begun) {
    policy->add(read_of(++id, 1), now);
    const Decision decision = policy->next(now);
    if (decision.kind != Decision::Kind::dispatch) break;
    now += 30_ms;
    policy->served(id, 4_KiB, true, now);
  }
  EXPECT_EQ(begun, 8U);
  EXPECT_LE(now, kStart + 250_ms);
}

TEST(OrchestratedPolicy, ARequestLongerThanAnySliceIsServedAllTheSame) {
  const auto policy = make_orchestrated(";idle=wait;dispatch_depth=1");
  policy->add(read_of(1, 1), kStart - 10_s);
  EXPECT_EQ(policy->next(kStart - 10_s).id, 1U);
  policy->served(1, 4_KiB, true, kStart - 9_s);  // 4 KiB took a second
  policy->advise(two_slices(), kStart);
  policy->add(read_of(2, 1), kStart);
  EXPECT_EQ(dispatched(*policy, kStart), (Ids{2}));
}

TEST(OrchestratedPolicy, AnIdleServerServesOthersWhenTheWayThereAndBackIsWorthIt) {
  const auto policy = make_orchestrated();
  policy->advise(two_slices(), kStart);
  policy->add(read_of(1, 2), kStart);
  // Nothing is known of program 1: wait as long as the way costs, 8 ms each.
  const Decision waits = policy->next(kStart);
  ASSERT_EQ(waits.kind, Decision::Kind::wait);
  EXPECT_EQ(waits.until, kStart + 16_ms);
  EXPECT_EQ(served(*policy, kStart + 16_ms), (Ids{1}));
  EXPECT_EQ(policy->counters().filled, 1U);
}

TEST(OrchestratedPolicy, ShortPausesOfTheOwnerAreWaitedFor) {
  const auto policy = make_orchestrated();
  policy->advise(two_slices(), kStart);
  Nanos now = kStart;
  policy->add(read_of(1, 2), now);
  for (std::uint64_t id = 2; id < 30; ++id) {
    policy->add(read_of(id, 1), now);
    EXPECT_EQ(dispatched(*policy, now), (Ids{id}));
    now += 1_ms;
    policy->served(id, 4_KiB, true, now);
    EXPECT_EQ(dispatched(*policy, now), Ids{});
    now += 2_ms;  // until it comes back
  }
  EXPECT_EQ(policy->counters().filled, 0U);
}

TEST(OrchestratedPolicy, TheRestOfASliceCanBeOrderedByTimeWindows) {
  const auto policy = make_orchestrated(";rest=window;interval=100");
  Advice advice;
  advice.expiry = kStart + 1_s;
  advice.slices = {{0, true, kStart, kStart + 500_ms}, {1, false, kStart + 500_ms, kStart + 1_s}};
  policy->advise(advice, kStart);
  auto late = read_of(1, 7);
  late.request_time = kStart + 150_ms;
  auto early = read_of(2, 8);
  early.request_time = kStart + 50_ms;
  policy->add(late, kStart);
  policy->add(early, kStart);
  EXPECT_EQ(served(*policy, kStart), (Ids{2, 1}));
}

TEST(OrchestratedPolicy, WithoutSlicesItServesAsWindowDoes) {
  const auto ours = make_orchestrated(";rest=window");
  const auto window = make_policy(for_device("window", true));
  for (std::uint64_t id = 1; id <= 40; ++id) {
    auto request = read_of(id, id % 5);
    request.request_time = kStart + 300_ms * static_cast<std::int64_t>(id * 7 % 13);
    request.length = request.end = 256_KiB * (1 + id % 3);
    ours->add(request, kStart);
    window->add(request, kStart);
  }
  while (window->queued() > 0) {
    const Decision expected = window->next(kStart);
    const Decision got = ours->next(kStart);
    ASSERT_EQ(got.kind, Decision::Kind::dispatch);
    ASSERT_EQ(got.id, expected.id);
    ASSERT_EQ(got.quantum, expected.quantum);
    window->served(expected.id, 256_KiB, false, kStart);
    ours->served(expected.id, 256_KiB, false, kStart);
    window->drop(expected.id, kStart);
    ours->drop(expected.id, kStart);
  }
  EXPECT_EQ(ours->queued(), 0U);
}

TEST(OrchestratedPolicy, WhatIsInLineMovesOverWhenSlicesBeginAndWhenTheyEnd) {
  const auto policy = make_orchestrated(";rest=window;idle=wait");
  policy->add(read_of(1, 1), kStart - 100_ms);
  EXPECT_EQ(dispatched(*policy, kStart - 100_ms), (Ids{1}));
  policy->advise(two_slices(), kStart - 100_ms);
  policy->add(read_of(2, 2), kStart);
  policy->add(read_of(3, 1), kStart);
  // What is in service ends first.
  EXPECT_EQ(dispatched(*policy, kStart), Ids{});
  policy->served(1, 4_KiB, true, kStart + 1_ms);
  EXPECT_EQ(served(*policy, kStart + 1_ms), (Ids{3}));
  expect_wait(*policy, kStart + 2_ms, kStart + 250_ms);
  // No more is announced.
  policy->add(read_of(4, 1), kStart + 900_ms);
  EXPECT_EQ(served(*policy, kStart + 900_ms), (Ids{2}));
  expect_wait(*policy, kStart + 900_ms, kStart + 1_s);
  EXPECT_EQ(served(*policy, kStart + 1_s), (Ids{4}));
  EXPECT_EQ(policy->queued(), 0U);
}

TEST(OrchestratedPolicy, ARequestThatComesBackUnfinishedAfterASwitchGoesOn) {
  const auto policy = make_orchestrated(";rest=window;idle=wait");
  auto request = read_of(1, 2);
  request.length = request.end = 1_MiB;
  policy->add(request, kStart - 1_ms);
  EXPECT_EQ(dispatched(*policy, kStart - 1_ms), (Ids{1}));
  policy->advise(two_slices(), kStart - 1_ms);
  EXPECT_EQ(dispatched(*policy, kStart), Ids{});
  policy->served(1, 256_KiB, false, kStart + 1_ms);
  expect_wait(*policy, kStart + 1_ms, kStart + 250_ms);
  EXPECT_EQ(dispatched(*policy, kStart + 250_ms), (Ids{1}));
  policy->served(1, 768_KiB, true, kStart + 260_ms);
  EXPECT_EQ(policy->queued(), 0U);
}

TEST(OrchestratedPolicy, NamesItsParameters) {
  const auto policy = make_policy("orchestrated;window=250;slices=even");
  EXPECT_EQ(make_policy(policy->name())->name(), policy->name());
  EXPECT_EQ(make_request_policy("orchestrated;window=1").code(), Code::invalid);
  EXPECT_EQ(make_request_policy("orchestrated;by=guess").code(), Code::invalid);
  EXPECT_EQ(make_request_policy("orchestrated;ahead=much").code(), Code::invalid);
  EXPECT_NE(make_policy("orchestrated;rotational=true")->name().find(";ahead=8388608"), std::string::npos);
  EXPECT_NE(make_policy("orchestrated;rotational=false")->name().find(";ahead=0"), std::string::npos);
  EXPECT_NE(make_policy("orchestrated;rotational=true")->name().find(";rest=window"), std::string::npos);
  EXPECT_NE(make_policy("orchestrated;rotational=false")->name().find(";rest=arrival"), std::string::npos);
}

}  // namespace
}  // namespace tutti
