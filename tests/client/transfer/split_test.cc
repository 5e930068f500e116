#include "client/transfer/split.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace tutti {
namespace {

Layout layout(std::uint64_t stripe, std::uint32_t count) { return Layout{Bytes(stripe), count, 0, 80}; }

std::vector<Extent> list(const Extents& extents) { return {extents.begin(), extents.end()}; }

TEST(Split, ContiguousTransferIsOneExtentPerServer) {
  const Extent whole{0_B, 1_MiB};
  const Segment memory{1 << 30, 1 << 20};
  const Shares shares = split(layout(65536, 4), {&whole, 1}, {&memory, 1});
  ASSERT_EQ(shares.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(shares[i].slot, i);
    EXPECT_EQ(list(shares[i].object), (std::vector{Extent{0_B, 256_KiB}}));
    ASSERT_EQ(shares[i].memory.size(), 4U);
    EXPECT_EQ(shares[i].memory[1].address, (1U << 30) + (4 + i) * 65536);
    EXPECT_EQ(shares[i].length, 256_KiB);
  }
}

TEST(Split, OneServerNeedsNoCutting) {
  const Extent whole{100_B, 10_MiB};
  const Segment memory{4096, 10 << 20};
  const Shares shares = split(layout(65536, 1), {&whole, 1}, {&memory, 1});
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(list(shares[0].object), (std::vector{Extent{100_B, 10_MiB}}));
  ASSERT_EQ(shares[0].memory.size(), 1U);
  EXPECT_EQ(shares[0].memory[0].length, 10U << 20);
}

TEST(Split, SharesComeInOrderOfFirstTouch) {
  const std::vector<Extent> file = {{1024_B, 10_B}, {0_B, 5_B}, {0_B, 0_B}, {1100_B, 7_B}, {512_B, 1_B}};
  const Segment memory{4096, 23};
  const Shares shares = split(layout(512, 4), file, {&memory, 1});
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].slot, 2U);
  EXPECT_EQ(list(shares[0].object), (std::vector{Extent{0_B, 10_B}, Extent{76_B, 7_B}}));
  EXPECT_EQ(shares[1].slot, 0U);
  EXPECT_EQ(shares[2].slot, 1U);
}

TEST(Split, MemoryOfOneServersStridesIsOneSegmentIfItLiesTogether) {
  std::vector<Extent> file;
  for (std::uint64_t i = 0; i < 300; ++i) file.push_back(Extent{Bytes(i * 9720), 3240_B});
  const Segment memory{4096, 300 * 3240};
  const Shares shares = split(layout(65536, 1), file, {&memory, 1});
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].object.size(), 300U);
  EXPECT_EQ(shares[0].memory.size(), 1U);
}

// Every byte of every extent appears in one share, at the object offset and address that the layout says.
TEST(Split, CoversEveryByteOnceForRandomLists) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const Layout any = layout(512, static_cast<std::uint32_t>(random.between(1, 40)));
    std::vector<Extent> file;
    std::vector<Segment> memory;
    std::map<std::uint64_t, std::pair<std::uint32_t, Bytes>> expected;  // address to (slot, object offset)
    std::vector<Bytes> offsets;
    for (std::uint64_t i = random.between(0, 6); i > 0; --i) {
      const Extent extent{Bytes(random.below(50'000)), Bytes(random.below(4000))};
      file.push_back(extent);
      for (std::uint64_t b = 0; b < extent.length.count(); ++b) offsets.push_back(extent.offset + Bytes(b));
    }
    std::uint64_t address = 1 << 20;
    for (std::size_t at = 0; at < offsets.size();) {
      const std::uint64_t length = std::min<std::uint64_t>(random.between(1, 900), offsets.size() - at);
      memory.push_back(Segment{address, length});
      for (std::uint64_t b = 0; b < length; ++b, ++at)
        expected[address + b] = {any.slot_of(offsets[at]), any.object_offset(offsets[at])};
      address += length + random.below(2) * 64;
    }
    ASSERT_TRUE(check_lists(file, memory).ok());
    std::size_t seen = 0;
    for (const Share& share : split(any, file, memory)) {
      std::vector<Bytes> object;
      std::vector<std::uint64_t> addresses;
      for (const Extent& e : share.object) {
        for (std::uint64_t b = 0; b < e.length.count(); ++b) object.push_back(e.offset + Bytes(b));
      }
      for (const Segment& s : share.memory) {
        for (std::uint64_t b = 0; b < s.length; ++b) addresses.push_back(s.address + b);
      }
      ASSERT_EQ(object.size(), addresses.size());
      ASSERT_EQ(Bytes(object.size()), share.length);
      for (std::size_t i = 0; i < object.size(); ++i) {
        ASSERT_EQ(expected.at(addresses[i]), std::make_pair(share.slot, object[i]));
      }
      seen += object.size();
    }
    EXPECT_EQ(seen, expected.size());
  }
}

TEST(Split, SumsThatWrapAreRefused) {
  const Extent largest{0_B, Bytes(1ULL << 62U)};
  const std::vector<Extent> file = {largest, largest, largest, largest, Extent{0_B, 10_B}};
  const Segment ten{4096, 10};
  EXPECT_EQ(check_lists(file, {&ten, 1}).code(), Code::too_large) << "2^64 + 10 are not 10 bytes";
  const Extent same{0_B, 10_B};
  const std::vector<Segment> memory = {{0, std::numeric_limits<std::uint64_t>::max()}, {0, 11}};
  EXPECT_EQ(check_lists({&same, 1}, memory).code(), Code::too_large);
  const Extent past{Bytes(1ULL << 62U), 1_B};
  EXPECT_EQ(check_lists({&past, 1}, {&ten, 1}).code(), Code::too_large);
  EXPECT_EQ(check_lists({}, {&ten, 1}).code(), Code::invalid);
  EXPECT_TRUE(check_lists({&same, 1}, {&ten, 1}).ok());
}

}  // namespace
}  // namespace tutti
