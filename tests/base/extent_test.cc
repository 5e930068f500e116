#include "base/extent.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

const std::vector<Extent> kExtents = {{100_B, 10_B}, {5_B, 0_B}, {0_B, 20_B}, {200_B, 5_B}};

TEST(ExtentWalk, HandsOutPartsOfOneExtentEach) {
  ExtentWalk walk(kExtents);
  EXPECT_EQ(walk.whole().size(), 4U);
  EXPECT_EQ(walk.next(4_B), (Extent{100_B, 4_B}));
  EXPECT_TRUE(walk.whole().empty()) << "it is inside of one";
  EXPECT_EQ(walk.front(), (Extent{104_B, 6_B}));
  EXPECT_EQ(walk.next(0_B), (Extent{104_B, 0_B}));
  EXPECT_EQ(walk.next(Bytes::max()), (Extent{104_B, 6_B}));
  EXPECT_EQ(walk.whole().size(), 2U) << "the empty one is passed";
  EXPECT_EQ(walk.next(20_B), (Extent{0_B, 20_B}));
  EXPECT_EQ(walk.at(), 30_B);
  EXPECT_EQ(walk.next(6_B), (Extent{200_B, 5_B}));
  EXPECT_TRUE(walk.done());
  EXPECT_EQ(walk.at(), 35_B);
}

TEST(ExtentWalk, OfNothingIsDoneAtOnce) {
  const std::vector<Extent> empty = {{7_B, 0_B}};
  EXPECT_TRUE(ExtentWalk({}).done());
  EXPECT_TRUE(ExtentWalk(empty).done());
}

TEST(Slice, IsTheRangeOfTheStream) {
  EXPECT_EQ(slice(kExtents, 0_B, 35_B), (std::vector<Extent>{{100_B, 10_B}, {0_B, 20_B}, {200_B, 5_B}}));
  EXPECT_EQ(slice(kExtents, 8_B, 31_B), (std::vector<Extent>{{108_B, 2_B}, {0_B, 20_B}, {200_B, 1_B}}));
  EXPECT_EQ(slice(kExtents, 10_B, 30_B), (std::vector<Extent>{{0_B, 20_B}}));
  EXPECT_EQ(slice(kExtents, 12_B, 13_B), (std::vector<Extent>{{2_B, 1_B}}));
  EXPECT_TRUE(slice(kExtents, 12_B, 12_B).empty());
  EXPECT_TRUE(slice(kExtents, 35_B, 50_B).empty());
}

}  // namespace
}  // namespace tutti
