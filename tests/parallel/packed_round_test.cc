// The pure parts of an exchange: what is wanted of a round's buffer, and what lies on which server.
#include "parallel/packed_round.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "parallel/slot_bytes.h"

namespace tutti {
namespace {

TEST(Coverage, KnowsWhatIsCoveredInAnyOrder) {
  Random random(6);
  Coverage coverage;
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t length = 1 + random.below(500);
    std::vector<bool> model(length);
    coverage.reset(Bytes(length));
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      const std::uint64_t begin = random.below(length);
      const std::uint64_t end = begin + random.below(length - begin + 1);
      coverage.add(begin, end);
      std::fill(model.begin() + static_cast<std::ptrdiff_t>(begin),
                model.begin() + static_cast<std::ptrdiff_t>(end), true);
    }
    std::vector<bool> covered(length);
    Bytes last;
    std::vector<Extent> found;
    coverage.append_to(found, 0, length, 1000_B);
    for (const Extent& extent : found) {
      EXPECT_GT(extent.offset, last) << "neighbours are joined";
      last = extent.end();
      for (std::uint64_t i = 0; i < extent.length.count(); ++i)
        covered[extent.offset.count() - 1000 + i] = true;
    }
    EXPECT_EQ(covered, model);
  }
}

TEST(Coverage, LooksOnlyWhereItIsAskedTo) {
  Coverage coverage;
  coverage.reset(300_B);
  coverage.add(10, 20);
  coverage.add(60, 200);
  std::vector<Extent> found;
  coverage.append_to(found, 15, 130, 1000_B);
  EXPECT_EQ(found, (std::vector<Extent>{{1000_B, 5_B}, {1045_B, 70_B}}));
}

ViewRange contiguous(std::int64_t offset, std::int64_t bytes) {
  return ViewRange(FileView{offset, 1, FlatType::bytes(1)}, 0, bytes);
}

// Blocks of so many bytes, the begin of each `stride` behind that of the last.
ViewRange strided(std::int64_t offset, std::int64_t block, std::int64_t stride, std::int64_t blocks) {
  const FlatType type = FlatType::resized(0, stride, FlatType::contiguous(block, FlatType::bytes(1)));
  return ViewRange(FileView{offset, 1, type}, 0, block * blocks);
}

struct Visited {
  std::uint64_t at;
  std::size_t length;
  std::size_t in_message;
  bool operator==(const Visited&) const = default;
};

TEST(PackedRound, HoldsThePartsAndNothingBetweenThem) {
  PackedRound round;
  round.reset({{1000_B, 100_B}, {5000_B, 50_B}, {1_GiB, 10_B}});
  EXPECT_EQ(round.bytes(), 160_B);
  std::vector<Visited> visited;
  round.each_run(contiguous(1090, 3920), [&](std::uint64_t at, std::size_t length, std::size_t in_message) {
    visited.push_back({at, length, in_message});
    round.want(at, length);
  });
  EXPECT_EQ(visited, (std::vector<Visited>{{90, 10, 0}, {100, 10, 10}}));
  const PackedRound::Wanted wanted = round.wanted(0_B);
  EXPECT_EQ(wanted.file, (std::vector<Extent>{{1090_B, 10_B}, {5000_B, 10_B}}));
  EXPECT_EQ(wanted.buffer, (std::vector<Extent>{{90_B, 20_B}})) << "the places touch";
  EXPECT_EQ(wanted.bytes, 20_B);
}

TEST(PackedRound, TakesHolesAlongOnlyWhereTheBufferHasThem) {
  PackedRound round;
  round.reset({{0_B, 100_B}, {100_B, 100_B}, {210_B, 100_B}});
  for (const auto& [at, length] : {std::pair{0U, 90U}, {105U, 95U}, {200U, 100U}}) round.want(at, length);
  const PackedRound::Wanted wanted = round.wanted(64_B);
  EXPECT_EQ(wanted.file, (std::vector<Extent>{{0_B, 200_B}, {210_B, 100_B}}))
      << "10 bytes between two parts stay out";
  EXPECT_EQ(wanted.buffer, (std::vector<Extent>{{0_B, 300_B}}));
  EXPECT_EQ(wanted.bytes, 300_B);
}

TEST(PackedRound, BeginsAnew) {
  PackedRound round;
  round.reset({{0_B, 100_B}});
  round.want(0, 100);
  round.reset({{50_B, 10_B}});
  EXPECT_EQ(round.bytes(), 10_B);
  EXPECT_TRUE(round.wanted(0_B).file.empty());
}

// Byte by byte.
std::vector<Bytes> counted(const ViewRange& range, const Layout& layout) {
  std::vector<Bytes> slots(layout.stripe_count);
  std::vector<PlacedRun> runs;
  range.cut(range.bounds(), runs);
  for (const PlacedRun& run : runs) {
    for (std::int64_t i = 0; i < run.length; ++i)
      slots[layout.slot_of(Bytes(static_cast<std::uint64_t>(run.file + i)))] += 1_B;
  }
  return slots;
}

TEST(BytesBySlot, AreExactForWhatCanBeCounted) {
  const Layout layout{512_B, 3, 1, 4};
  for (const ViewRange& range : {contiguous(700, 5000), contiguous(512, 100), strided(300, 70, 400, 50),
                                 strided(0, 1500, 4000, 7), strided(5, 1, 1536, 20)}) {
    EXPECT_EQ(bytes_by_slot(range, 50, layout), counted(range, layout));
  }
  // The same blocks from the last to the first, each twice.
  std::vector<std::int64_t> lengths(40, 30);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 20; ++i) places.insert(places.end(), 2, (19 - i) * 200);
  const ViewRange descending(FileView{0, 1, FlatType::indexed(lengths, places, FlatType::bytes(1))}, 0, 1200);
  ASSERT_FALSE(descending.ascending());
  EXPECT_EQ(bytes_by_slot(descending, 40, layout), counted(descending, layout));
  EXPECT_EQ(bytes_by_slot(ViewRange(), 0, layout), (std::vector<Bytes>{0_B, 0_B, 0_B}));
}

TEST(BytesBySlot, AreSpreadEvenlyWhereCountingCostsTooMuch) {
  const Layout layout{512_B, 4, 0, 4};
  // A byte of every stripe of the first server, 100,000 times.
  const ViewRange range = strided(0, 1, 2048, 100'000);
  const std::vector<Bytes> slots = bytes_by_slot(range, 100'000, layout);
  Bytes sum;
  for (const Bytes bytes : slots) {
    EXPECT_NEAR(static_cast<double>(bytes.count()), 25'000, 10);
    sum += bytes;
  }
  EXPECT_EQ(sum, 100'000_B);
}

}  // namespace
}  // namespace tutti
