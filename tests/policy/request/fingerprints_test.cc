#include "policy/request/fingerprints.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace tutti {
namespace {

TEST(Fingerprints, BehaveAsASet) {
  Fingerprints prints;
  std::set<std::uint64_t> plain;
  Random random(9);
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t hash = 1 + random.below(3'000) * 64;  // few, in few places
    ASSERT_EQ(prints.insert(hash), plain.insert(hash).second);
  }
}

TEST(Fingerprints, AHashOfZeroIsOneAsAnyOther) {
  Fingerprints prints;
  EXPECT_TRUE(prints.insert(0));
  EXPECT_FALSE(prints.insert(0));
  EXPECT_TRUE(prints.insert(7));
  EXPECT_FALSE(prints.insert(0));
}

}  // namespace
}  // namespace tutti
