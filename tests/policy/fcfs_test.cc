#include "policy/request/fcfs.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// A write of the object's block of this number; all of the same one are in each other's way.
QueuedRequest request(std::uint64_t id, std::uint64_t object, std::uint64_t block = 0, bool write = true) {
  QueuedRequest made;
  made.id = id;
  made.object = object;
  made.offset = 4_KiB * block;
  made.length = 4_KiB;
  made.end = made.offset + made.length;
  made.write = write;
  return made;
}

// Dispatches until the policy has no more to give.
std::vector<std::uint64_t> drain(FcfsPolicy& policy) {
  std::vector<std::uint64_t> ids;
  for (Decision d = policy.next(0_ns); d.kind == Decision::Kind::dispatch; d = policy.next(0_ns))
    ids.push_back(d.id);
  return ids;
}

TEST(FcfsPolicy, WritesOfTheSameBytesAreServedInOrderOfArrivalOneAtATime) {
  FcfsPolicy policy(16);
  for (const std::uint64_t id : {1U, 2U, 3U}) policy.add(request(id, 7), 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{1}));
  policy.served(1, 4_KiB, true, 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(policy.queued(), 1U);
}

TEST(FcfsPolicy, WhatIsNotInEachOthersWayIsServedAtTheSameTime) {
  FcfsPolicy policy(16);
  policy.add(request(1, 7, 0), 0_ns);
  policy.add(request(2, 7, 1), 0_ns);
  policy.add(request(3, 7, 1, false), 0_ns);  // has to see what 2 writes
  policy.add(request(4, 7, 2), 0_ns);         // came later: waits with it
  policy.add(request(5, 8, 0, false), 0_ns);
  policy.add(request(6, 8, 0, false), 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{1, 2, 5, 6}));
  policy.served(1, 4_KiB, true, 0_ns);
  EXPECT_TRUE(drain(policy).empty());
  policy.served(2, 4_KiB, true, 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{3, 4}));
}

TEST(FcfsPolicy, InterleavedWritersOfOneObjectDoNotWaitForEachOther) {
  FcfsPolicy policy(16);
  std::vector<Extent> even;
  std::vector<Extent> odd;
  for (std::uint64_t i = 0; i < 100; ++i) (i % 2 == 0 ? even : odd).push_back({4_KiB * i, 4_KiB});
  QueuedRequest first = request(1, 7);
  first.extents = even;
  first.end = even.back().end();
  QueuedRequest second = request(2, 7, 1);
  second.extents = odd;
  second.end = odd.back().end();
  QueuedRequest third = request(3, 7, 99, false);
  policy.add(first, 0_ns);
  policy.add(second, 0_ns);
  policy.add(third, 0_ns);  // reads what the second writes
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{1, 2}));
  policy.served(2, 4_KiB, true, 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{3}));
}

TEST(FcfsPolicy, OneObjectIsServedByAsManyRequestsAsTheDepthAllows) {
  FcfsPolicy policy(16);
  std::vector<std::uint64_t> first;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    policy.add(request(id, 7, id, id % 2 == 0), 0_ns);
    if (id <= 16) first.push_back(id);
  }
  EXPECT_EQ(drain(policy), first);
  EXPECT_EQ(policy.queued(), 4U);
}

TEST(FcfsPolicy, ObjectsAreServedAtTheSameTimeUpToTheDepth) {
  FcfsPolicy policy(2);
  policy.add(request(1, 10), 0_ns);
  policy.add(request(2, 10), 0_ns);
  policy.add(request(3, 11), 0_ns);
  policy.add(request(4, 12), 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{1, 3}));
  policy.served(3, 4_KiB, true, 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{4}));
  policy.served(1, 4_KiB, true, 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{2}));
}

TEST(FcfsPolicy, AnUnfinishedRequestKeepsItsPlace) {
  FcfsPolicy policy(16);
  policy.add(request(1, 7), 0_ns);
  policy.add(request(2, 7), 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{1}));
  policy.served(1, 1_KiB, false, 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{1}));
}

TEST(FcfsPolicy, DroppedRequestsAreNeverDispatched) {
  FcfsPolicy policy(16);
  for (const std::uint64_t id : {1U, 2U, 3U}) policy.add(request(id, 7), 0_ns);
  policy.add(request(4, 8), 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{1, 4}));
  policy.drop(2, 0_ns);
  policy.served(1, 4_KiB, true, 0_ns);
  EXPECT_EQ(drain(policy), (std::vector<std::uint64_t>{3}));
  policy.add(request(5, 9), 0_ns);
  policy.drop(5, 0_ns);
  policy.served(3, 4_KiB, true, 0_ns);
  policy.served(4, 4_KiB, true, 0_ns);
  EXPECT_TRUE(drain(policy).empty());
  EXPECT_EQ(policy.queued(), 0U);
}

}  // namespace
}  // namespace tutti
