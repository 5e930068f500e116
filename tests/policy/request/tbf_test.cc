#include "policy/request/tbf.h"

#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

// Ten tokens a second.
constexpr const char* kSlow = "tbf;rate=10;depth=3";

void add_many(RequestPolicy& policy, std::uint64_t first, std::uint64_t last, std::uint64_t application,
              Nanos now) {
  for (std::uint64_t id = first; id <= last; ++id) policy.add(read_of(id, application), now);
}

TEST(TbfPolicy, AnApplicationThatUsedItsTokensWaitsUntilTheNextOneComes) {
  const auto policy = make_policy(kSlow);
  add_many(*policy, 1, 5, 7, 1_s);
  EXPECT_EQ(served(*policy, 1_s), (Ids{1, 2, 3}));
  expect_wait(*policy, 1_s, 1_s + 100_ms);
  expect_wait(*policy, 1_s + 99_ms, 1_s + 100_ms);
  EXPECT_EQ(served(*policy, 1_s + 100_ms), (Ids{4}));
  expect_wait(*policy, 1_s + 100_ms, 1_s + 200_ms);
  EXPECT_EQ(served(*policy, 1_s + 200_ms), (Ids{5}));
  EXPECT_EQ(policy->next(1_s + 200_ms).kind, Decision::Kind::idle);
}

TEST(TbfPolicy, TokensDoNotAccumulateBeyondTheDepth) {
  const auto policy = make_policy(kSlow);
  add_many(*policy, 1, 3, 7, 1_s);
  EXPECT_EQ(served(*policy, 1_s).size(), 3U);
  add_many(*policy, 4, 12, 7, 1000_s);
  EXPECT_EQ(served(*policy, 1000_s), (Ids{4, 5, 6}));
}

TEST(TbfPolicy, ARateThatDoesNotDivideASecondGivesATokenAtTheTimeItSays) {
  const auto policy = make_policy("tbf;rate=3;depth=1");
  add_many(*policy, 1, 20, 7, 0_s);
  Nanos now;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    EXPECT_EQ(served(*policy, now), (Ids{id}));
    const Decision decision = policy->next(now);
    if (id < 20) {
      ASSERT_EQ(decision.kind, Decision::Kind::wait);
      ASSERT_GT(decision.until, now);
      now = decision.until;
    }
  }
  EXPECT_NEAR(now.seconds(), 19.0 / 3, 1e-6);
}

TEST(TbfPolicy, TheEarliestDeadlineGoesFirst) {
  const auto policy = make_policy("tbf;rate=10;depth=1;rules=8:1000");
  add_many(*policy, 1, 2, 7, 0_s);
  add_many(*policy, 3, 4, 8, 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{3}));  // the faster bucket's is earlier
  // 8 has no token and the earliest deadline: nobody is served, as in Lustre.
  expect_wait(*policy, 0_s, 1_ms);
  EXPECT_EQ(served(*policy, 1_ms), (Ids{4, 1}));
  expect_wait(*policy, 1_ms, 101_ms);
}

TEST(TbfPolicy, RulesGiveApplicationsRatesOfTheirOwnAndTheFirstThatMatchesCounts) {
  const auto policy = make_policy("tbf;rate=100;depth=1;rules=7:10,5-9:20");
  const auto waits = [&policy](std::uint64_t id, std::uint64_t application) {
    policy->add(read_of(id, application), 0_s);
    policy->add(read_of(id + 1, application), 0_s);
    EXPECT_EQ(served(*policy, 0_s), (Ids{id}));
    const Nanos until = policy->next(0_s).until;
    EXPECT_EQ(served(*policy, until), (Ids{id + 1}));
    return until;
  };
  EXPECT_EQ(waits(1, 7), 100_ms);
  EXPECT_EQ(waits(3, 8), 50_ms);
  EXPECT_EQ(waits(5, 10), 10_ms);
}

TEST(TbfPolicy, ARequestThatComesBackUnfinishedCostsNoSecondToken) {
  const auto policy = make_policy("tbf;rate=10;depth=1");
  add_many(*policy, 1, 2, 7, 0_s);
  EXPECT_EQ(dispatched(*policy, 0_s), (Ids{1}));
  policy->served(1, 0_B, false, 1_ms);
  EXPECT_EQ(dispatched(*policy, 1_ms), (Ids{1}));
  policy->served(1, 4_KiB, true, 2_ms);
  expect_wait(*policy, 2_ms, 100_ms);
}

TEST(TbfPolicy, NamesWhatItTakesInTheFormInWhichItTakesIt) {
  const std::string all = "tbf;rate=500;depth=5;rules=7:10,100-199:50;dispatch_depth=4";
  EXPECT_EQ(make_policy(all)->name(), all);
  EXPECT_EQ(make_policy("tbf")->name(), "tbf;rate=10000;depth=3;dispatch_depth=16");
  for (const char* bad : {"tbf;rate=0", "tbf;depth=0", "tbf;rules=7", "tbf;rules=7:0", "tbf;rules=x:5",
                          "tbf;rules=7:5x", "tbf;rules=7:5,,8:5", "tbf;rules=9-7:5"}) {
    EXPECT_EQ(make_request_policy(bad).code(), Code::invalid) << bad;
  }
  EXPECT_NE(make_request_policy("tbf;rules=7").status().message().find("IDS:RATE"), std::string::npos);
}

}  // namespace
}  // namespace tutti
