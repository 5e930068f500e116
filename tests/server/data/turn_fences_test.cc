// What is written in a turn at the gate that was lost is refused.
#include "server/data/turn_fences.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(TurnFences, NameTurnsThatWereLost) {
  TurnFences fences;
  EXPECT_FALSE(fences.lost(7));
  fences.add(7);
  fences.add(7);
  fences.add(0);
  EXPECT_TRUE(fences.lost(7));
  EXPECT_FALSE(fences.lost(8));
  EXPECT_FALSE(fences.lost(0)) << "a write in no turn";
}

TEST(TurnFences, AreBounded) {
  TurnFences fences;
  for (std::uint64_t fence = 1; fence <= 2 * TurnFences::kMost; ++fence) fences.add(fence);
  EXPECT_FALSE(fences.lost(1));
  EXPECT_FALSE(fences.lost(TurnFences::kMost));
  EXPECT_TRUE(fences.lost(TurnFences::kMost + 1));
  EXPECT_TRUE(fences.lost(2 * TurnFences::kMost));
}

}  // namespace
}  // namespace tutti
