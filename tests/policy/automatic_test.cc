// auto: follows the plan, and loses nothing when the choice changes.
#include "policy/request/automatic.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "tests/policy/one_server.h"

namespace tutti {
namespace {

using test::make_request;

constexpr Nanos kStart = 100_s;

std::unique_ptr<RequestPolicy> make_automatic() {
  auto made = make_request_policy("auto;rotational=true");
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return *std::move(made);
}

std::size_t choice(const RequestPolicy& policy) {
  return dynamic_cast<const AutomaticPolicy&>(policy).choice();
}

Advice plan(std::vector<PlanStep> steps, Nanos expiry) { return {1, expiry, {}, std::move(steps)}; }

TEST(AutomaticPolicy, TakesTheFirstChoiceWithoutAPlanAndWhenItHasExpired) {
  const auto policy = make_automatic();
  policy->next(kStart);
  EXPECT_EQ(choice(*policy), 0U);
  policy->advise(plan({{kStart + 1_s, 1}, {kStart + 2_s, 2}, {kStart + 3_s, 9}}, kStart + 10_s), kStart);
  policy->next(kStart + 999_ms);
  EXPECT_EQ(choice(*policy), 0U);
  policy->next(kStart + 1_s);
  EXPECT_EQ(choice(*policy), 1U);
  policy->next(kStart + 2_s);
  EXPECT_EQ(choice(*policy), 2U);
  policy->next(kStart + 3_s);  // one that it does not know
  EXPECT_EQ(choice(*policy), 0U);
  policy->advise(plan({{kStart, 1}}, kStart + 10_s), kStart + 4_s);
  policy->next(kStart + 4_s);
  EXPECT_EQ(choice(*policy), 1U);
  policy->next(kStart + 10_s);
  EXPECT_EQ(choice(*policy), 0U);
}

TEST(AutomaticPolicy, WhoWaitsIsAskedAgainWhenTheChoiceChanges) {
  const auto policy = make_automatic();
  policy->advise(plan({{kStart + 1_s, 1}}, kStart + 10_s), kStart);
  // Two writes of the same bytes: the second waits for the first.
  for (std::uint64_t id = 1; id <= 2; ++id) {
    QueuedRequest request = make_request(id, 1, kStart, 4_KiB);
    request.write = true;
    request.object = 1;
    request.offset = Bytes();
    request.end = 4_KiB;
    policy->add(request, kStart);
  }
  EXPECT_EQ(policy->next(kStart).id, 1U);
  const Decision waits = policy->next(kStart);
  EXPECT_EQ(waits.kind, Decision::Kind::wait);
  EXPECT_EQ(waits.until, kStart + 1_s);
  // The new choice begins when those in service have ended.
  EXPECT_EQ(policy->next(kStart + 1_s).kind, Decision::Kind::idle);
  policy->served(1, 4_KiB, true, kStart + 2_s);
  EXPECT_EQ(policy->next(kStart + 2_s).id, 2U);
  policy->served(2, 4_KiB, true, kStart + 3_s);
  EXPECT_EQ(policy->queued(), 0U);
}

TEST(AutomaticPolicy, EverythingIsServedOnceWhateverThePlan) {
  Random random(3);
  for (int run = 0; run < 20; ++run) {
    const auto policy = make_automatic();
    std::set<std::uint64_t> waiting;
    std::vector<std::uint64_t> busy;
    Nanos now = kStart;
    std::uint64_t next_id = 1;
    std::size_t finished = 0;
    for (int step = 0; step < 3000 || !waiting.empty() || !busy.empty(); ++step) {
      ASSERT_LT(step, 100000);
      now += Nanos(static_cast<std::int64_t>(random.below(2'000'000)));
      const std::uint64_t what = random.below(10);
      if (what < 4 && step < 3000) {
        QueuedRequest request =
            make_request(next_id, 1 + random.below(4), now, 4_KiB * random.between(1, 200));
        request.write = random.chance(0.5);
        request.object = random.below(4);
        policy->add(request, now);
        waiting.insert(next_id++);
      } else if (what == 4 && step < 3000) {
        policy->advise(plan({{now, static_cast<std::uint32_t>(random.below(4))},
                             {now + 3_ms, static_cast<std::uint32_t>(random.below(4))}},
                            now + 6_ms),
                       now);
      } else if (what == 5 && !waiting.empty() && step < 3000) {
        policy->drop(*waiting.begin(), now);
        waiting.erase(waiting.begin());
      } else if (what < 8 && !busy.empty()) {
        const std::size_t at = random.below(busy.size());
        const std::uint64_t id = busy[at];
        busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(at));
        const bool done = random.chance(0.6);
        policy->served(id, 4_KiB, done, now);
        if (done) {
          ++finished;
        } else {
          waiting.insert(id);
        }
      }
      for (;;) {
        const Decision decision = policy->next(now);
        if (decision.kind != Decision::Kind::dispatch) {
          // Nobody waits while nobody is in service.
          ASSERT_TRUE(!busy.empty() || waiting.empty());
          break;
        }
        ASSERT_EQ(waiting.erase(decision.id), 1U);
        busy.push_back(decision.id);
      }
      ASSERT_EQ(policy->queued(), waiting.size());
    }
    EXPECT_GT(finished, 500U);
  }
}

TEST(AutomaticPolicy, NamesItsParameters) {
  EXPECT_EQ(make_automatic()->name(), "auto;rotational=true");
  EXPECT_EQ((*make_request_policy("auto"))->name(), "auto;rotational=false");
  EXPECT_FALSE(make_request_policy("auto;rotational=maybe").ok());
  EXPECT_FALSE(make_request_policy("auto;speed=1").ok());
}

}  // namespace
}  // namespace tutti
