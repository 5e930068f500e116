#include "policy/request/flat_map.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "policy/request/indexed_heap.h"
#include "policy/request/sweeps.h"

namespace tutti {
namespace {

// Behaves as std::map under many random insertions and removals; few keys, so that they crowd.
template <typename Hash>
void compare_with_map(std::uint64_t stride) {
  FlatMap<std::uint64_t, Hash> flat;
  std::map<std::uint64_t, std::uint32_t> plain;
  Random random(7);
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    const std::uint64_t key = random.below(300) * stride;
    const auto found = plain.find(key);
    ASSERT_EQ(flat.find(key), found == plain.end() ? flat.kNone : found->second);
    if (found == plain.end()) {
      flat.insert(key, step);
      plain.emplace(key, step);
    } else {
      flat.erase(key);
      plain.erase(found);
    }
    ASSERT_EQ(flat.size(), plain.size());
  }
  for (const auto& [key, value] : plain) EXPECT_EQ(flat.find(key), value);
}

TEST(FlatMap, BehavesAsAMap) {
  struct HashOfNothing {
    std::uint64_t operator()(std::uint64_t key) const { return key; }
  };
  compare_with_map<HashOfNumber>(1);
  compare_with_map<HashOfNothing>(1);
  compare_with_map<HashOfNothing>(64);  // all in one place: slow, never wrong
}

TEST(IndexedHeap, BehavesAsASortedSet) {
  IndexedHeap<std::uint64_t> heap;
  std::map<std::uint32_t, std::uint64_t> rank_of;
  std::set<std::pair<std::uint64_t, std::uint32_t>> sorted;
  Random random(8);
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const auto handle = static_cast<std::uint32_t>(random.below(200));
    const std::uint64_t rank = random.below(1000) * 100'000 + step;
    const auto found = rank_of.find(handle);
    ASSERT_EQ(heap.contains(handle), found != rank_of.end());
    if (found == rank_of.end()) {
      heap.push(handle, rank);
      rank_of.emplace(handle, rank);
      sorted.emplace(rank, handle);
    } else {
      sorted.erase({found->second, handle});
      if (random.chance(0.5)) {
        heap.update(handle, rank);
        found->second = rank;
        sorted.emplace(rank, handle);
      } else {
        heap.erase(handle);
        rank_of.erase(found);
      }
    }
    ASSERT_EQ(heap.size(), sorted.size());
    if (!sorted.empty()) {
      ASSERT_EQ(heap.top(), sorted.begin()->second);
    }
  }
}

TEST(Sweeps, OfOnePlaceKeepTheOrderOfArrivalThroughServiceAndReturn) {
  Sweeps lanes;
  const Sweeps::Lane lane = lanes.open();
  const Sweeps::Lane other = lanes.open();
  for (const std::uint64_t id : {1U, 2U, 3U, 4U, 5U}) lanes.push(lane, id, {});
  lanes.push(other, 6, {});
  EXPECT_EQ(lanes.take(lane), 1U);
  EXPECT_EQ(lanes.take(lane), 2U);
  EXPECT_EQ(lanes.take(lane), 3U);
  EXPECT_EQ(lanes.in_service(), 3U);
  lanes.give_back(3);
  lanes.give_back(1);
  lanes.forget(2);
  lanes.forget(4);
  EXPECT_EQ(lanes.take(lane), 1U);
  EXPECT_EQ(lanes.take(lane), 3U);
  EXPECT_EQ(lanes.take(lane), 5U);
  EXPECT_TRUE(lanes.empty(lane));
  EXPECT_FALSE(lanes.deserted(lane));
  for (const std::uint64_t id : {1U, 3U, 5U}) lanes.forget(id);
  EXPECT_TRUE(lanes.deserted(lane));
  lanes.close(lane);
  EXPECT_EQ(lanes.open(), lane);
  EXPECT_EQ(lanes.head(other), 6U);
  EXPECT_EQ(lanes.size(), 1U);
  EXPECT_EQ(lanes.in_service(), 0U);
}

TEST(Sweeps, GoUpAndBeginAgain) {
  Sweeps sweeps;
  const Sweeps::Lane lane = sweeps.open();
  const auto at = [](std::uint64_t object, std::uint64_t kib) {
    return Sweeps::Place{object, Bytes(kib * 1024)};
  };
  sweeps.push(lane, 1, at(1, 40));
  sweeps.push(lane, 2, at(1, 20));
  sweeps.push(lane, 3, at(2, 0));
  EXPECT_EQ(sweeps.take(lane), 2U);
  sweeps.push(lane, 4, at(1, 10));  // the sweep has passed it
  sweeps.push(lane, 5, at(1, 20));  // not this one
  sweeps.give_back(2);
  EXPECT_EQ(sweeps.take(lane), 2U);
  EXPECT_EQ(sweeps.take(lane), 5U);
  EXPECT_EQ(sweeps.take(lane), 1U);
  sweeps.push(lane, 6, at(1, 60));
  EXPECT_EQ(sweeps.take(lane), 6U);
  EXPECT_EQ(sweeps.take(lane), 3U);
  EXPECT_EQ(sweeps.take(lane), 4U);
  EXPECT_TRUE(sweeps.empty(lane));
  EXPECT_EQ(sweeps.in_service(), 6U);
  EXPECT_EQ(sweeps.lane_of(4), lane);
  for (const std::uint64_t id : {1U, 2U, 3U, 4U, 5U, 6U}) sweeps.forget(id);
  EXPECT_TRUE(sweeps.deserted(lane));
  sweeps.close(lane);
  EXPECT_EQ(sweeps.open(), lane);
  // A lane begins anew.
  sweeps.push(lane, 7, at(1, 5));
  sweeps.push(lane, 8, at(1, 1));
  sweeps.forget(8);
  EXPECT_EQ(sweeps.take(lane), 7U);
  EXPECT_EQ(sweeps.size(), 1U);
}

}  // namespace
}  // namespace tutti
