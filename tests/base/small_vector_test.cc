#include "base/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tutti {
namespace {

TEST(SmallVector, KeepsItsElementsWhenItGrows) {
  SmallVector<std::unique_ptr<int>, 2> list;
  for (int i = 0; i < 100; ++i) list.push_back(std::make_unique<int>(i));
  ASSERT_EQ(list.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*list[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(*list.back(), 99);
}

TEST(SmallVector, AMovedListIsEmptyAndUsable) {
  for (const std::size_t size : {1U, 2U, 3U, 50U}) {
    SmallVector<std::string, 2> from;
    for (std::size_t i = 0; i < size; ++i)
      from.push_back("a text that is too long to be short " + std::to_string(i));
    SmallVector<std::string, 2> to(std::move(from));
    EXPECT_EQ(to.size(), size);
    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
    from.push_back("again");
    to = std::move(from);
    ASSERT_EQ(to.size(), 1U);
    EXPECT_EQ(to.front(), "again");
  }
}

TEST(SmallVector, ShrinkDestroysTheRest) {
  const auto counted = std::make_shared<int>(1);
  SmallVector<std::shared_ptr<int>, 2> list;
  list.extend(10, counted);
  EXPECT_EQ(counted.use_count(), 11);
  list.shrink(3);
  EXPECT_EQ(counted.use_count(), 4);
  EXPECT_EQ(list.size(), 3U);
  list.clear();
  EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace tutti
