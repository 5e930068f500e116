#include "client/transfer/cut.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace tutti {
namespace {

std::vector<std::uint32_t> slots(const Pieces& pieces) {
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < pieces.size(); ++i) slots.push_back(pieces[i].slot);
  return slots;
}

constexpr Layout kThree{512_B, 3, 0, 3};

TEST(Cut, AShareThatFitsIsOnePieceThatLiesInTheShare) {
  const Extent extent{0_B, 1200_B};
  const Segment memory{4096, 1200};
  const Shares shares = split(kThree, {&extent, 1}, {&memory, 1});
  const Pieces pieces = Pieces::cut(shares, {4_MiB});
  ASSERT_EQ(pieces.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pieces[i].object.data(), shares[i].object.data()) << "not copied";
    EXPECT_EQ(pieces[i].memory.data(), shares[i].memory.data());
    EXPECT_EQ(pieces[i].length, shares[i].length);
  }
}

TEST(Cut, PiecesOfOneServerStandBehindEachOther) {
  const Extent extent{0_B, Bytes(512 * 7)};  // three stripes on the first server, two on the others
  const Segment memory{4096, 512 * 7};
  const Shares shares = split(kThree, {&extent, 1}, {&memory, 1});
  EXPECT_EQ(slots(Pieces::cut(shares, {512_B})), (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 2, 2}));
}

TEST(Cut, ManySmallExtentsAreCutByTheirNumber) {
  constexpr Layout kOne{64_KiB, 1, 0, 1};
  std::vector<Extent> file;
  for (std::uint64_t i = 0; i < 2500; ++i) file.push_back(Extent{Bytes(i * 9720), 3240_B});
  const Segment memory{4096, 2500 * 3240};
  const Shares shares = split(kOne, file, {&memory, 1});
  const Pieces pieces = Pieces::cut(shares, {64_MiB});
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].object.size(), 1024U);
  EXPECT_EQ(pieces[0].memory.size(), 1U) << "the memory lies together";
  EXPECT_EQ(pieces[1].memory[0].address, 4096U + 1024U * 3240U);
  EXPECT_EQ(pieces[2].object.size(), 2500U - 2048U);
}

TEST(Cut, DroppedPiecesLeaveTheOthersInOrder) {
  const Extent extent{0_B, Bytes(512 * 7)};
  const Segment memory{4096, 512 * 7};
  const Shares shares = split(kThree, {&extent, 1}, {&memory, 1});
  Pieces pieces = Pieces::cut(shares, {512_B});
  pieces.drop([](const Piece& piece) { return piece.slot == 0; });
  EXPECT_EQ(slots(pieces), (std::vector<std::uint32_t>{1, 1, 2, 2}));
  pieces.drop([](const Piece& /*piece*/) { return true; });
  EXPECT_TRUE(pieces.empty());
}

// The pieces of each server, one behind the other, are its share; none is larger than allowed.
TEST(Cut, PiecesAddUpToTheSharesForRandomLists) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const Layout layout{512_B, static_cast<std::uint32_t>(random.between(1, 5)), 0, 8};
    std::vector<Extent> file;
    std::uint64_t sum = 0;
    for (std::uint64_t i = random.between(1, 30); i > 0; --i) {
      file.push_back(Extent{Bytes(random.below(50'000)), Bytes(random.below(2000))});
      sum += file.back().length.count();
    }
    std::vector<Segment> memory;
    std::uint64_t address = 1 << 20;
    for (std::uint64_t left = sum; left > 0;) {
      const std::uint64_t length = std::min<std::uint64_t>(random.between(1, 900), left);
      memory.push_back(Segment{address, length});
      address += length + random.below(2) * 64;
      left -= length;
    }
    const Shares shares = split(layout, file, memory);
    const PieceLimits limits{Bytes(random.between(1, 3000)), random.between(1, 8)};
    const Pieces pieces = Pieces::cut(shares, limits);
    for (const Share& share : shares) {
      Extents object;
      Segments segments;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Piece& piece = pieces[i];
        if (piece.slot != share.slot) continue;
        EXPECT_LE(piece.length, limits.bytes);
        EXPECT_LE(piece.object.size(), limits.entries);
        EXPECT_LE(piece.memory.size(), limits.entries);
        Bytes in_object;
        std::uint64_t in_memory = 0;
        for (const Extent& extent : piece.object) {
          in_object += extent.length;
          if (!object.empty() && object.back().end() == extent.offset) {
            object.back().length += extent.length;
          } else {
            object.push_back(extent);
          }
        }
        for (const Segment& segment : piece.memory) {
          in_memory += segment.length;
          append(segments, segment);
        }
        EXPECT_EQ(in_object, piece.length);
        EXPECT_EQ(in_memory, piece.length.count());
      }
      ASSERT_EQ(object.size(), share.object.size());
      for (std::size_t i = 0; i < object.size(); ++i) EXPECT_EQ(object[i], share.object[i]);
      ASSERT_EQ(segments.size(), share.memory.size());
      for (std::size_t i = 0; i < segments.size(); ++i) {
        EXPECT_EQ(segments[i].address, share.memory[i].address);
        EXPECT_EQ(segments[i].length, share.memory[i].length);
      }
    }
  }
}

}  // namespace
}  // namespace tutti
