#include "layout/layout.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tutti {
namespace {

Layout layout(std::uint64_t stripe, std::uint32_t count, std::uint32_t first, std::uint32_t total) {
  return Layout{Bytes(stripe), count, first, total};
}

TEST(Layout, RefusesWhatItCannotStripe) {
  EXPECT_EQ(layout(0, 1, 0, 1).validate().code(), Code::invalid);
  EXPECT_EQ(layout(513, 1, 0, 1).validate().code(), Code::invalid);
  EXPECT_EQ(layout(2ULL << 30U, 1, 0, 1).validate().code(), Code::invalid);
  EXPECT_EQ(layout(65536, 0, 0, 4).validate().code(), Code::invalid);
  EXPECT_EQ(layout(65536, 5, 0, 4).validate().code(), Code::invalid);
  EXPECT_EQ(layout(65536, 4, 4, 4).validate().code(), Code::invalid);
  EXPECT_TRUE(layout(512, 1, 0, 1).validate().ok());
  EXPECT_TRUE(layout(1ULL << 30U, 4, 3, 4).validate().ok());
}

TEST(Layout, DealsStripesRoundRobinFromTheFirstServer) {
  const Layout four = layout(1024, 3, 2, 4);
  EXPECT_EQ(four.slot_of(0_B), 0U);
  EXPECT_EQ(four.slot_of(1023_B), 0U);
  EXPECT_EQ(four.slot_of(1024_B), 1U);
  EXPECT_EQ(four.slot_of(3072_B), 0U);
  EXPECT_EQ(four.server_of_slot(0), 2U);
  EXPECT_EQ(four.server_of_slot(1), 3U);
  EXPECT_EQ(four.server_of_slot(2), 0U);
  EXPECT_EQ(four.object_offset(1024_B), 0_B);
  EXPECT_EQ(four.object_offset(3072_B), 1024_B);
  EXPECT_EQ(four.object_offset(3172_B), 1124_B);
}

TEST(Layout, FileOffsetIsTheInverseOfObjectOffset) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto count = static_cast<std::uint32_t>(random.between(1, 64));
    const Layout any = layout(512 * random.between(1, 300), count, 0, 64);
    const Bytes offset(random.below(1ULL << 50U));
    EXPECT_EQ(any.file_offset(any.slot_of(offset), any.object_offset(offset)), offset);
  }
}

TEST(Layout, LengthsOfObjectsAndFileAgree) {
  const Layout three = layout(512, 3, 0, 3);
  for (std::uint64_t length = 0; length < 512 * 7; length += 37) {
    Bytes sum;
    Bytes file;
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      const Bytes object = three.object_length(slot, Bytes(length));
      sum += object;
      file = std::max(file, three.file_length(slot, object));
    }
    EXPECT_EQ(sum, Bytes(length));
    EXPECT_EQ(file, Bytes(length));
  }
}

}  // namespace
}  // namespace tutti
