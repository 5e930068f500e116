#include "policy/request/orr.h"

#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

QueuedRequest read_block(std::uint64_t id, std::uint64_t object, std::uint64_t block) {
  return block_of(id, 1, object, block, false);
}

TEST(OrrPolicy, ServesItsQuantumOfAnObjectByOffsetAndThenTurnsToTheNext) {
  const auto policy = make_policy("orr;quantum=3");
  // Four of object 10, then three of object 20: the fourth is of the next round.
  for (const auto& [id, block] :
       {std::pair(1U, 9U), std::pair(2U, 3U), std::pair(3U, 6U), std::pair(4U, 1U)}) {
    policy->add(read_block(id, 10, block), 0_s);
  }
  for (const auto& [id, block] : {std::pair(5U, 2U), std::pair(6U, 0U), std::pair(7U, 1U)}) {
    policy->add(read_block(id, 20, block), 0_s);
  }
  EXPECT_EQ(served(*policy, 0_s), (Ids{2, 3, 1, 6, 7, 5, 4}));
}

TEST(OrrPolicy, ABatchIsFilledWhileItIsServed) {
  const auto policy = make_policy("orr;quantum=8;dispatch_depth=1");
  policy->add(read_block(1, 10, 5), 0_s);
  policy->add(read_block(2, 10, 7), 0_s);
  policy->add(read_block(3, 20, 0), 0_s);
  EXPECT_EQ(dispatched(*policy, 0_s), (Ids{1}));
  policy->add(read_block(4, 10, 6), 0_s);
  policy->add(read_block(5, 10, 0), 0_s);
  finish(*policy, {1}, 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{5, 4, 2, 3}));
}

TEST(OrrPolicy, AnObjectThatRanDryWaitsForItsNextRound) {
  const auto policy = make_policy("orr;quantum=8;dispatch_depth=1");
  policy->add(read_block(1, 10, 0), 0_s);
  policy->add(read_block(2, 20, 0), 0_s);
  EXPECT_EQ(dispatched(*policy, 0_s), (Ids{1}));
  policy->add(read_block(3, 10, 1), 0_s);  // has room in its batch, but that is over
  policy->add(read_block(4, 20, 1), 0_s);
  finish(*policy, {1}, 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{2, 4, 3}));
}

TEST(OrrPolicy, AtTheSameOffsetTheShorterOneGoesFirst) {
  const auto policy = make_policy("orr");
  QueuedRequest longer = read_block(1, 10, 0);
  longer.end = 64_KiB;
  policy->add(longer, 0_s);
  policy->add(read_block(2, 10, 0), 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{2, 1}));
}

TEST(OrrPolicy, DroppedRequestsLeaveTheirBatch) {
  const auto policy = make_policy("orr;quantum=2");
  for (const std::uint64_t id : {1U, 2U, 3U}) policy->add(read_block(id, 10, id), 0_s);
  policy->add(read_block(4, 20, 0), 0_s);
  policy->drop(1, 0_s);
  policy->drop(2, 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{4, 3}));
  EXPECT_EQ(policy->queued(), 0U);
}

TEST(OrrPolicy, NamesItsParameters) {
  EXPECT_EQ(make_policy("orr")->name(), "orr;quantum=256;dispatch_depth=16");
  EXPECT_EQ(make_request_policy("orr;quantum=0").code(), Code::invalid);
}

}  // namespace
}  // namespace tutti
