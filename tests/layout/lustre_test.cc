#include "layout/lustre.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti {
namespace {

// As `getfattr -n lustre.lov` shows it: magic, pattern, the object's id, stripe size, stripe count, generation.
std::vector<std::byte> attribute(std::uint32_t magic, std::uint32_t size, std::uint16_t count) {
  std::vector<std::byte> bytes(56);
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
  };
  put(0, magic, 4);
  put(4, 1, 4);
  put(8, 0x1122334455667788U, 8);
  put(24, size, 4);
  put(28, count, 2);
  put(30, 7, 2);
  return bytes;
}

TEST(LustreLayout, PlainLayoutsAreKnown) {
  for (const std::uint32_t magic : {0x0BD10BD0U, 0x0BD30BD0U}) {
    const auto layout = lustre_layout(attribute(magic, 1 << 20, 4));
    ASSERT_TRUE(layout.has_value());
    EXPECT_EQ(layout->stripe_size, 1_MiB);
    EXPECT_EQ(layout->stripe_count, 4U);
  }
}

TEST(LustreLayout, OthersAndGarbageAreNot) {
  EXPECT_FALSE(lustre_layout(attribute(0x0BD60BD0U, 1 << 20, 4)).has_value()) << "of several components";
  EXPECT_FALSE(lustre_layout(attribute(0x0BD10BD0U, 0, 4)).has_value());
  EXPECT_FALSE(lustre_layout(attribute(0x0BD10BD0U, 1 << 20, 0)).has_value());
  EXPECT_FALSE(lustre_layout(std::vector<std::byte>(31)).has_value());
  EXPECT_FALSE(lustre_layout({}).has_value());
}

}  // namespace
}  // namespace tutti
