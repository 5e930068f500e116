#include "policy/application_ids.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace tutti {
namespace {

TEST(ApplicationIds, AClaimInsideStaysAnyOtherIsMappedIntoTheRange) {
  const ApplicationRange range{100, 199};
  EXPECT_EQ(range.fit(100), 100U);
  EXPECT_EQ(range.fit(199), 199U);
  std::set<std::uint64_t> seen;
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t claim = random.next();
    const std::uint64_t id = range.fit(claim);
    EXPECT_TRUE(id >= 100 && id <= 199);
    EXPECT_EQ(range.fit(claim), id);
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 100U) << "the whole range is used";
}

TEST(ApplicationIds, AFixedIdIsARangeOfOne) {
  const ApplicationRange fixed = *ApplicationRange::parse("7");
  EXPECT_EQ(fixed.fit(7), 7U);
  EXPECT_EQ(fixed.fit(8), 7U);
  EXPECT_EQ(fixed.text(), "7");
}

TEST(ApplicationIds, WithoutARuleEveryClaimStands) {
  const ApplicationRules rules;
  EXPECT_EQ(rules.range_for(1, "x").fit(~0ULL), ~0ULL);
  EXPECT_EQ(rules.range_for(1, "x").fit(0), 0U);
}

}  // namespace
}  // namespace tutti
