#include "policy/request/guarded_policy.h"

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "policy/request/application_queues.h"
#include "policy/request/weighted_draw.h"
#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

// Serves what enters last first, which no policy of the field does: whatever comes out in order is the guard's doing.
class LastInFirstOut : public GuardedPolicy {
 public:
  explicit LastInFirstOut(std::uint64_t depth = 16) : GuardedPolicy(depth) {}
  [[nodiscard]] std::string name() const override { return "lifo"; }
  Ids ended_ids;

 private:
  void enter(Handle handle, Nanos /*now*/) override { stack_.push_back(handle); }
  Choice choose(Nanos /*now*/) override {
    const Handle handle = stack_.back();
    stack_.pop_back();
    return Choice::dispatch(handle);
  }
  void left(Handle handle, Nanos /*now*/) override { std::erase(stack_, handle); }
  void ended(Handle handle, Nanos /*now*/) override { ended_ids.push_back(request(handle).id); }
  std::vector<Handle> stack_;
};

QueuedRequest write(std::uint64_t id, std::uint64_t block) { return block_of(id, 1, 7, block, true); }
QueuedRequest read(std::uint64_t id, std::uint64_t block) { return block_of(id, 1, 7, block, false); }

TEST(GuardedPolicy, ConflictingRequestsAreServedInTheOrderOfArrivalOneAtATime) {
  LastInFirstOut policy;
  policy.add(write(1, 0), 0_s);
  policy.add(read(2, 0), 0_s);
  policy.add(read(3, 0), 0_s);
  policy.add(write(4, 0), 0_s);
  policy.add(write(5, 1), 0_s);
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{5, 1}));
  finish(policy, {1}, 0_s);
  Ids readers = dispatched(policy, 0_s);
  std::sort(readers.begin(), readers.end());
  EXPECT_EQ(readers, (Ids{2, 3}));
  finish(policy, {2}, 0_s);
  EXPECT_TRUE(dispatched(policy, 0_s).empty());
  finish(policy, {3}, 0_s);
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{4}));
  EXPECT_EQ(policy.queued(), 0U);
}

TEST(GuardedPolicy, OneThatWaitedForADroppedRequestWaitsForThoseBeforeIt) {
  LastInFirstOut policy;
  policy.add(write(1, 0), 0_s);
  policy.add(write(2, 0), 0_s);
  policy.add(write(3, 0), 0_s);
  policy.drop(2, 0_s);
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{1}));
  finish(policy, {1}, 0_s);
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{3}));
}

TEST(GuardedPolicy, AnUnfinishedRequestGoesOnBeforeOthersAndNobodyGetsInBetween) {
  LastInFirstOut policy(1);
  policy.add(write(1, 0), 0_s);
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{1}));
  policy.add(write(2, 0), 0_s);
  policy.add(write(3, 1), 0_s);
  policy.served(1, 0_B, false, 0_s);
  EXPECT_EQ(policy.queued(), 3U);
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{1}));
  finish(policy, {1}, 0_s);
  EXPECT_EQ(policy.ended_ids, (Ids{1}));
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{2}));
}

TEST(GuardedPolicy, AnUnfinishedRequestMayBeDropped) {
  LastInFirstOut policy(1);
  policy.add(write(1, 0), 0_s);
  policy.add(write(2, 0), 0_s);
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{1}));
  policy.served(1, 0_B, false, 0_s);
  policy.drop(1, 0_s);
  EXPECT_EQ(policy.ended_ids, (Ids{1}));
  EXPECT_EQ(dispatched(policy, 0_s), (Ids{2}));
}

// Against all pairs.
TEST(Claims, TellsOfAnEarlierOneThatConflictsAndOnlyOfSuch) {
  struct Claim {
    std::uint64_t order, object;
    Bytes begin, end;
    bool write;
  };
  const auto conflicts = [](const Claim& a, const Claim& b) {
    return a.object == b.object && (a.write || b.write) && a.begin < b.end && b.begin < a.end;
  };
  Random random(5);
  Claims claims;
  std::vector<std::optional<Claim>> all(200);
  int blocked = 0;
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const auto handle = static_cast<Claims::Handle>(random.below(all.size()));
    if (all[handle]) {
      claims.remove(handle);
      all[handle].reset();
    } else {
      const Bytes begin = Bytes(random.below(1000));
      all[handle] = Claim{step, random.below(4), begin, begin + Bytes(random.below(60)), random.chance(0.3)};
      claims.add(handle, all[handle]->object, begin, all[handle]->end, all[handle]->write);
    }
    const auto asked = static_cast<Claims::Handle>(random.below(all.size()));
    if (!all[asked]) continue;
    const bool expected = std::any_of(all.begin(), all.end(), [&](const auto& other) {
      return other && other->order < all[asked]->order && conflicts(*other, *all[asked]);
    });
    const Claims::Handle found = claims.earlier(asked);
    ASSERT_EQ(found != Claims::kNone, expected) << "step " << step;
    if (!expected) continue;
    ++blocked;
    ASSERT_TRUE(all[found] && all[found]->order < all[asked]->order && conflicts(*all[found], *all[asked]));
  }
  EXPECT_GT(blocked, 1000);
}

TEST(ApplicationQueues, RemembersTheApplicationsThatWereQuietForTheShortestTime) {
  ApplicationQueues queues;
  const auto busy = queues.open(1);
  queues.push(busy.queue, 0, 1);
  for (std::uint64_t application = 2; application < 2 + ApplicationQueues::kRemembered; ++application) {
    EXPECT_TRUE(queues.open(application).fresh);
  }
  EXPECT_FALSE(queues.open(2).fresh);
  EXPECT_TRUE(queues.open(1'000'000).fresh);  // for which 2 is forgotten
  EXPECT_TRUE(queues.open(2).fresh);          // and 3 for that
  EXPECT_FALSE(queues.open(4).fresh);
  EXPECT_FALSE(queues.open(1).fresh);  // has something here
  EXPECT_EQ(queues.size(), 1 + ApplicationQueues::kRemembered);
}

TEST(WeightedDraw, FindsTheSlotOfEveryPoint) {
  WeightedDraw draw;
  const std::vector<std::uint64_t> weights = {3, 0, 1, 5, 0, 2, 7};
  for (std::uint32_t slot = 0; slot < weights.size(); ++slot) draw.set(slot, 9);
  for (std::uint32_t slot = 0; slot < weights.size(); ++slot) draw.set(slot, weights[slot]);
  ASSERT_EQ(draw.total(), 18U);
  std::vector<std::uint64_t> found(weights.size());
  for (std::uint64_t point = 0; point < draw.total(); ++point) ++found[draw.find(point)];
  EXPECT_EQ(found, weights);
}

}  // namespace
}  // namespace tutti
