#include "client/transfer/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tutti {
namespace {

constexpr std::byte kOld{0xee};

// A piece of two extents over three pieces of memory.
class GatherTest : public testing::Test {
 protected:
  Segment segment(std::size_t from, std::size_t length) {
    return {reinterpret_cast<std::uint64_t>(buffer_.data() + from), length};
  }
  [[nodiscard]] std::size_t zeros() const {
    return static_cast<std::size_t>(std::count(buffer_.begin(), buffer_.end(), std::byte{0}));
  }

  std::vector<std::byte> buffer_ = std::vector<std::byte>(100, kOld);
  std::vector<Extent> object_ = {{1000_B, 10_B}, {2000_B, 20_B}};
  std::vector<Segment> memory_ = {segment(0, 5), segment(20, 15), segment(50, 10)};
  Piece piece_{0, 30_B, object_, memory_};
  bool short_read_ = false;
};

TEST_F(GatherTest, AllThereLeavesTheMemoryAsItCame) {
  EXPECT_TRUE(gather(piece_, {5000_B}, short_read_));
  EXPECT_FALSE(short_read_);
  EXPECT_EQ(zeros(), 0U);
}

TEST_F(GatherTest, BytesInsideTheAnswerAreScattered) {
  std::vector<std::byte> inside(30);
  for (std::size_t i = 0; i < 30; ++i) inside[i] = static_cast<std::byte>(i + 1);
  EXPECT_TRUE(gather(piece_, {5000_B, inside}, short_read_));
  EXPECT_FALSE(short_read_);
  EXPECT_EQ(buffer_[4], std::byte{5});
  EXPECT_EQ(buffer_[5], kOld);
  EXPECT_EQ(buffer_[20], std::byte{6});
  EXPECT_EQ(buffer_[34], std::byte{20});
  EXPECT_EQ(buffer_[59], std::byte{30});
}

TEST_F(GatherTest, BytesOfAnotherLengthContradictTheRequest) {
  const std::vector<std::byte> inside(29);
  EXPECT_FALSE(gather(piece_, {5000_B, inside}, short_read_));
  EXPECT_EQ(zeros(), 0U) << "nothing is written";
}

TEST_F(GatherTest, WhatIsNotThereIsZerosAndAShortRead) {
  EXPECT_TRUE(gather(piece_, {2003_B}, short_read_));
  EXPECT_TRUE(short_read_);
  EXPECT_EQ(zeros(), 17U);
  EXPECT_EQ(buffer_[27], kOld) << "the third byte of the second extent";
  EXPECT_EQ(buffer_[28], std::byte{0});
  EXPECT_EQ(buffer_[59], std::byte{0});
}

TEST_F(GatherTest, AnEmptyObjectIsAllZeros) {
  EXPECT_TRUE(gather(piece_, {0_B}, short_read_));
  EXPECT_TRUE(short_read_);
  EXPECT_EQ(zeros(), 30U);
  EXPECT_EQ(buffer_[5], kOld) << "memory between the segments is not ours";
}

TEST(BytesBefore, CountUpToTheLastExtentThatBeginsBeforeTheEnd) {
  const std::vector<Extent> file = {{0_B, 10_B}, {100_B, 10_B}, {50_B, 10_B}};
  EXPECT_EQ(bytes_before(Bytes::max(), file), 30_B);
  EXPECT_EQ(bytes_before(105_B, file), 30_B) << "the hole in the middle counts";
  EXPECT_EQ(bytes_before(55_B, file), 25_B);
  EXPECT_EQ(bytes_before(5_B, file), 5_B);
  EXPECT_EQ(bytes_before(0_B, file), 0_B);
}

TEST(MemoryWalk, HandsOutTheBufferInParts) {
  const std::vector<Segment> memory = {{100, 10}, {200, 5}, {300, 20}};
  MemoryWalk walk(memory);
  const auto whole = walk.next(10_B);
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole.data(), memory.data()) << "not copied";
  const auto mixed = walk.next(8_B);
  ASSERT_EQ(mixed.size(), 2U);
  EXPECT_EQ(mixed[0].length, 5U);
  EXPECT_EQ(mixed[1].length, 3U);
  const auto rest = walk.next(17_B);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].address, 303U);
  EXPECT_EQ(rest[0].length, 17U);
}

}  // namespace
}  // namespace tutti
