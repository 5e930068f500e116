#include <gtest/gtest.h>

#include <set>

#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using test::make_policy;

// A read of 4 blocks of 64 KiB by one of `ranks`, on the server of this slot.
QueuedRequest by_rank(std::uint64_t id, std::uint32_t rank, std::uint32_t ranks, std::uint32_t slot) {
  QueuedRequest made = test::read_of(id, 1);
  made.object = 7;
  made.offset = 256_KiB * rank;
  made.length = 256_KiB;
  made.end = made.offset + made.length;
  made.rank = rank;
  made.ranks = ranks;
  made.slot = slot;
  made.servers = ranks;
  return made;
}

// The ranks in the order of their blocks, each finished before the next.
std::vector<std::uint64_t> ranks_served(RequestPolicy& policy, std::size_t blocks,
                                        std::map<std::uint64_t, int>& left) {
  std::vector<std::uint64_t> ranks;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Decision decision = policy.next(0_s);
    if (decision.kind != Decision::Kind::dispatch) break;
    EXPECT_EQ(decision.quantum, 64_KiB);
    ranks.push_back(decision.id - 1);
    policy.served(decision.id, 64_KiB, --left[decision.id] == 0, 0_s);
  }
  return ranks;
}

TEST(VisitPolicy, NoTwoServersServeTheSameClientAtOnce) {
  std::vector<std::vector<std::uint64_t>> all;
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    const auto policy = make_policy("visit;dispatch_depth=1");
    std::map<std::uint64_t, int> left;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      policy->add(by_rank(rank + 1, rank, 4, slot), 0_s);
      left[rank + 1] = 4;
    }
    all.push_back(ranks_served(*policy, 16, left));
    ASSERT_EQ(all.back().size(), 16U);
    EXPECT_EQ(policy->queued(), 0U);
  }
  for (std::size_t step = 0; step < 16; ++step) {
    std::set<std::uint64_t> at_once;
    for (const auto& ranks : all) at_once.insert(ranks[step]);
    EXPECT_EQ(at_once.size(), 4U) << "step " << step;
  }
}

TEST(VisitPolicy, AnIdleServerServesWhoeverComesFirst) {
  const auto policy = make_policy("visit;dispatch_depth=1");
  policy->add(by_rank(3, 2, 4, 0), 0_s);
  EXPECT_EQ(policy->next(0_s).id, 3U);
}

TEST(VisitPolicy, WithFirstAllServersTurnToTheSameClients) {
  const auto policy = make_policy("visit;order=first;dispatch_depth=1");
  std::map<std::uint64_t, int> left;
  for (const std::uint32_t rank : {2U, 0U, 1U}) {
    policy->add(by_rank(rank + 1, rank, 3, 0), 0_s);
    left[rank + 1] = 4;
  }
  EXPECT_EQ(ranks_served(*policy, 12, left),
            (std::vector<std::uint64_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(VisitPolicy, TheGroupOfTheOldestIsServedFirst) {
  const auto policy = make_policy("visit;dispatch_depth=1");
  QueuedRequest other = by_rank(1, 0, 1, 0);
  other.application = 9;
  policy->add(other, 0_s);
  policy->add(by_rank(2, 1, 4, 0), 0_s);
  EXPECT_EQ(policy->next(0_s).id, 1U);
  policy->served(1, 64_KiB, false, 0_s);
  EXPECT_EQ(policy->next(0_s).id, 1U);
  policy->served(1, 64_KiB, true, 0_s);
  EXPECT_EQ(policy->next(0_s).id, 2U);
}

TEST(VisitPolicy, WhoIsGoneIsNotServed) {
  const auto policy = make_policy("visit;dispatch_depth=1;order=random;seed=3");
  policy->add(by_rank(1, 0, 2, 0), 0_s);
  policy->add(by_rank(2, 1, 2, 0), 0_s);
  policy->drop(1, 0_s);
  EXPECT_EQ(policy->next(0_s).id, 2U);
  policy->served(2, 64_KiB, false, 0_s);
  policy->drop(2, 0_s);
  EXPECT_EQ(policy->next(0_s).kind, Decision::Kind::idle);
  EXPECT_EQ(policy->queued(), 0U);
}

}  // namespace
}  // namespace tutti
