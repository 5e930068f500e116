#include "layout/external32.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace tutti {
namespace {

std::vector<unsigned> plain(std::span<const std::byte> bytes) {
  std::vector<unsigned> values;
  for (const std::byte byte : bytes) values.push_back(std::to_integer<unsigned>(byte));
  return values;
}

template <typename T>
const std::byte* memory(const T& value) {
  return reinterpret_cast<const std::byte*>(&value);
}

TEST(External32, SwapsElementByElementAndLeavesOutHoles) {
  struct Record {
    std::int32_t a;
    std::int64_t b;
    std::int16_t c[2];
  };
  const std::array<Record, 2> records{{{1, 2, {3, 4}}, {-1, 5, {6, 7}}}};
  const FlatType type = FlatType::resized(
      0, sizeof(Record),
      FlatType::structure(std::vector<std::int64_t>{1, 1, 2}, std::vector<std::int64_t>{0, 8, 16},
                          std::vector<FlatType>{FlatType::bytes(4), FlatType::bytes(8), FlatType::bytes(2)}));
  ASSERT_EQ(type.external_size(), 16);
  std::vector<std::byte> packed(32);
  ASSERT_TRUE(pack_external32(memory(records), type, 2, packed).ok());
  EXPECT_EQ(plain(packed), (std::vector<unsigned>{0,   0,   0,   1,   0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 4,
                                                  255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 7}));
  std::array<Record, 2> back{};
  ASSERT_TRUE(unpack_external32(packed, reinterpret_cast<std::byte*>(&back), type, 2).ok());
  EXPECT_EQ(back[1].a, -1);
  EXPECT_EQ(back[1].b, 5);
  EXPECT_EQ(back[1].c[1], 7);
}

TEST(External32, LongNumbersShrinkOrAreRefused) {
  const FlatType type = FlatType::element({8, 4, Element::Kind::integer});
  std::vector<std::byte> packed(4);
  const std::int64_t small = -2;
  ASSERT_TRUE(pack_external32(memory(small), type, 1, packed).ok());
  EXPECT_EQ(plain(packed), (std::vector<unsigned>{255, 255, 255, 254}));
  std::int64_t back = 0;
  ASSERT_TRUE(unpack_external32(packed, reinterpret_cast<std::byte*>(&back), type, 1).ok());
  EXPECT_EQ(back, -2);
  const std::int64_t large = std::int64_t{1} << 31;
  EXPECT_EQ(pack_external32(memory(large), type, 1, packed).code(), Code::too_large);
  const FlatType natural = FlatType::element({8, 4, Element::Kind::natural});
  EXPECT_TRUE(pack_external32(memory(large), natural, 1, packed).ok());
}

TEST(External32, LongDoubleTravelsAsQuadruple) {
  const FlatType type = FlatType::element({sizeof(long double), 16, Element::Kind::extended});
  for (const long double value :
       {0.0L, 1.0L, -2.5L, 1.0L / 3, std::numeric_limits<long double>::max(),
        std::numeric_limits<long double>::denorm_min(), std::numeric_limits<long double>::infinity()}) {
    std::vector<std::byte> packed(16);
    ASSERT_TRUE(pack_external32(memory(value), type, 1, packed).ok());
    long double back = 77;
    ASSERT_TRUE(unpack_external32(packed, reinterpret_cast<std::byte*>(&back), type, 1).ok());
    EXPECT_EQ(back, value);
    if (value == -2.5L) {
      EXPECT_EQ(plain(packed), (std::vector<unsigned>{0xc0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    }
  }
}

TEST(External32, ShortDataStoresWholeElementsOnly) {
  const FlatType type = FlatType::contiguous(3, FlatType::bytes(4));
  const std::array<std::uint32_t, 3> values{1, 2, 3};
  std::vector<std::byte> packed(12);
  ASSERT_TRUE(pack_external32(memory(values), type, 1, packed).ok());
  std::array<std::uint32_t, 3> back{9, 9, 9};
  ASSERT_TRUE(
      unpack_external32(std::span(packed).first(7), reinterpret_cast<std::byte*>(&back), type, 1).ok());
  EXPECT_EQ(back, (std::array<std::uint32_t, 3>{1, 9, 9}));
}

TEST(External32, CountsBytesOfEitherSide) {
  const FlatType type = FlatType::structure(
      std::vector<std::int64_t>{1, 2}, std::vector<std::int64_t>{0, 8},
      std::vector<FlatType>{FlatType::element({8, 4, Element::Kind::integer}), FlatType::bytes(2)});
  EXPECT_EQ(type.size(), 12);
  EXPECT_EQ(type.external_size(), 8);
  EXPECT_EQ(to_external_bytes(type, 12 * 3 + 10), 8 * 3 + 6);
  EXPECT_EQ(from_external_bytes(type, 8 * 3 + 6), 12 * 3 + 10);
  EXPECT_EQ(from_external_bytes(type, 3), 0);
}

}  // namespace
}  // namespace tutti
