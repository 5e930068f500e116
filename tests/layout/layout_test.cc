#include "layout/layout.h"

#include <gtest/gtest.h>

#include <map>

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

TEST(Split, ContiguousTransferIsOneExtentPerServer) {
  const Extent whole{0_B, 1_MiB};
  const auto shares = split(layout(65536, 4, 0, 4), {&whole, 1});
  ASSERT_EQ(shares.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(shares[i].slot, i);
    ASSERT_EQ(shares[i].object.size(), 1U);
    EXPECT_EQ(shares[i].object[0], (Extent{0_B, 256_KiB}));
    EXPECT_EQ(shares[i].buffer.size(), 4U);
    EXPECT_EQ(shares[i].length, 256_KiB);
  }
}

TEST(Split, OneServerNeedsNoCutting) {
  const Extent whole{100_B, 10_MiB};
  const auto shares = split(layout(65536, 1, 0, 1), {&whole, 1});
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].object, (std::vector{Extent{100_B, 10_MiB}}));
  EXPECT_EQ(shares[0].buffer, (std::vector{Extent{0_B, 10_MiB}}));
}

// Every byte of every extent appears in one share, at the object offset and buffer offset that the layout says.
TEST(Split, CoversEveryByteOnceForRandomLists) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const auto count = static_cast<std::uint32_t>(random.between(1, 5));
    const Layout any = layout(512, count, 0, 8);
    std::vector<Extent> file;
    std::map<std::uint64_t, std::pair<std::uint32_t, Bytes>>
        expected;  // buffer offset to (slot, object offset)
    std::uint64_t at = 0;
    for (std::uint64_t i = random.between(0, 6); i > 0; --i) {
      const Extent extent{Bytes(random.below(5000)), Bytes(random.below(1500))};
      file.push_back(extent);
      for (std::uint64_t b = 0; b < extent.length.count(); ++b) {
        const Bytes offset = extent.offset + Bytes(b);
        expected[at++] = {any.slot_of(offset), any.object_offset(offset)};
      }
    }
    std::size_t seen = 0;
    for (const Share& share : split(any, file)) {
      std::vector<Bytes> object;
      std::vector<Bytes> buffer;
      for (const Extent& e : share.object) {
        for (std::uint64_t b = 0; b < e.length.count(); ++b) object.push_back(e.offset + Bytes(b));
      }
      for (const Extent& e : share.buffer) {
        for (std::uint64_t b = 0; b < e.length.count(); ++b) buffer.push_back(e.offset + Bytes(b));
      }
      ASSERT_EQ(object.size(), buffer.size());
      ASSERT_EQ(Bytes(object.size()), share.length);
      for (std::size_t i = 0; i < object.size(); ++i) {
        EXPECT_EQ(expected.at(buffer[i].count()), std::make_pair(share.slot, object[i]));
      }
      seen += object.size();
    }
    EXPECT_EQ(seen, expected.size());
  }
}

}  // namespace
}  // namespace tutti
