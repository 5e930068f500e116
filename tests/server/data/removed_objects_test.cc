#include "server/data/removed_objects.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(RemovedObjects, RememberedUntilTheirTime) {
  RemovedObjects removed;
  removed.add(ObjectId{5}, 1000_s, 0_s);
  EXPECT_TRUE(removed.contains(ObjectId{5}));
  EXPECT_FALSE(removed.contains(ObjectId{6}));
  removed.add(ObjectId{1000}, 5000_s, 900_s);
  EXPECT_TRUE(removed.contains(ObjectId{5}));
  removed.add(ObjectId{2000}, 5000_s, 1100_s);
  EXPECT_FALSE(removed.contains(ObjectId{5}));
  EXPECT_TRUE(removed.contains(ObjectId{1000}));
}

TEST(RemovedObjects, NeighboursShareAnEntryAndStayAsLongAsTheLast) {
  RemovedObjects removed;
  for (std::uint64_t i = 0; i < 6400; ++i)
    removed.add(ObjectId{i}, 1000_s + Nanos(static_cast<std::int64_t>(i)), 0_s);
  EXPECT_EQ(removed.size(), 100U);
  removed.add(ObjectId{1}, 4000_s, 500_s);
  removed.add(ObjectId{1'000'000}, 9000_s, 2000_s);
  EXPECT_TRUE(removed.contains(ObjectId{2}));
  EXPECT_FALSE(removed.contains(ObjectId{64}));
  EXPECT_EQ(removed.size(), 2U);
}

}  // namespace
}  // namespace tutti
