#include "layout/flat_type.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "layout/type_cursor.h"
#include "tests/layout/naive_type.h"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<TypeRun> runs_of(const FlatType& type, std::int64_t count = 1) {
  TypeCursor cursor(type, 0, count);
  std::vector<TypeRun> runs;
  while (!cursor.at_end()) runs.push_back(cursor.next(TypeCursor::kUnbounded));
  return runs;
}

TEST(FlatType, DefaultIsOneByte) {
  const FlatType type;
  EXPECT_EQ(type.size(), 1);
  EXPECT_EQ(type.extent(), 1);
  EXPECT_TRUE(type.contiguous());
}

TEST(FlatType, TouchingRunsAreOne) {
  const FlatType four = FlatType::bytes(4);
  EXPECT_TRUE(FlatType::contiguous(1000, four).contiguous());
  EXPECT_TRUE(FlatType::vector(10, 3, 12, four).contiguous());
  const std::vector<std::int64_t> lengths{2, 0, 3};
  const std::vector<std::int64_t> at{0, 77, 8};
  EXPECT_TRUE(FlatType::indexed(lengths, at, four).contiguous());
  const std::vector<FlatType> types{four, FlatType::bytes(8), FlatType::bytes(1)};
  const std::vector<std::int64_t> fields{0, 4, 12};
  const std::vector<std::int64_t> ones{1, 1, 1};
  EXPECT_EQ(runs_of(FlatType::structure(ones, fields, types)), (std::vector<TypeRun>{{0, 13}}));
  EXPECT_EQ(runs_of(FlatType::vector(2, 1, 8, four), 2), (std::vector<TypeRun>{{0, 4}, {8, 8}, {20, 4}}))
      << "the end of one repetition touches the begin of the next";
}

TEST(FlatType, RegularBlocksNeedNoList) {
  std::vector<std::int64_t> lengths(100'000, 3);
  std::vector<std::int64_t> at(lengths.size());
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i) * 40;
  const FlatType type = FlatType::indexed(lengths, at, FlatType::bytes(4));
  EXPECT_EQ(type.blocks(), 100'000);
  EXPECT_LT(type.memory(), 1024U);
  const FlatType nested = FlatType::vector(1000, 1, 5'000'000, type);
  EXPECT_EQ(nested.blocks(), 100'000'000);
  EXPECT_LT(nested.memory(), 1024U);
}

TEST(FlatType, TenMillionBlocksTakeNoTimeAndNoMemory) {
  const auto begin = Clock::now();
  const FlatType vector =
      FlatType::vector(10'000'000, 1, 29'160, FlatType::contiguous(405, FlatType::bytes(8)));
  const FlatType nested =
      FlatType::vector(1000, 1, 100'000'000,
                       FlatType::vector(10'000, 2, 29'160, FlatType::contiguous(405, FlatType::bytes(8))));
  const auto took = Clock::now() - begin;
  EXPECT_EQ(vector.blocks(), 10'000'000);
  EXPECT_EQ(nested.blocks(), 10'000'000);
  EXPECT_LT(vector.memory() + nested.memory(), 4096U);
  EXPECT_LT(took, std::chrono::milliseconds(10));
}

TEST(FlatType, AMillionDifferentBlocksStayWithin32BytesEach) {
  Random random(3);
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> at;
  std::int64_t place = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    lengths.push_back(1 + static_cast<std::int64_t>(random.below(50)));
    at.push_back(place);
    place += lengths.back() * 8 + 8 + static_cast<std::int64_t>(random.below(100));
  }
  const FlatType type = FlatType::indexed(lengths, at, FlatType::bytes(8));
  EXPECT_EQ(type.blocks(), 1'000'000);
  EXPECT_LE(type.memory(), 32U * 1'000'000);
  const FlatType holes = FlatType::resized(0, 12, FlatType::bytes(8));
  EXPECT_LE(FlatType::indexed(lengths, at, holes).memory(), 32U * 1'000'000) << "of a type with holes";
}

TEST(FlatType, BoundsAreThoseOfTheStandard) {
  const FlatType four = FlatType::bytes(4);
  const FlatType back = FlatType::vector(3, 1, -10, four);
  EXPECT_EQ(back.lb(), -20);
  EXPECT_EQ(back.extent(), 24);
  EXPECT_EQ(back.true_lb(), -20);
  EXPECT_FALSE(back.ascending());
  EXPECT_FALSE(back.sorted());
  const FlatType wide = FlatType::resized(-4, 16, four);
  EXPECT_EQ(wide.true_lb(), 0);
  EXPECT_EQ(wide.true_extent(), 4);
  const FlatType three = FlatType::contiguous(3, wide);
  EXPECT_EQ(three.lb(), -4);
  EXPECT_EQ(three.extent(), 48);
  EXPECT_EQ(three.true_extent(), 36);
  EXPECT_EQ(FlatType::contiguous(0, four).extent(), 0);
  EXPECT_EQ(FlatType::empty().size(), 0);
}

TEST(FlatType, ElementsKeepTheirOrderAndSizes) {
  const FlatType record =
      FlatType::structure(std::vector<std::int64_t>{1, 2, 1}, std::vector<std::int64_t>{0, 8, 24},
                          std::vector<FlatType>{FlatType::bytes(4), FlatType::bytes(8), FlatType::bytes(1)});
  std::vector<ElementRun> runs;
  FlatType::contiguous(2, record).each_element_run([&](const ElementRun& run) { runs.push_back(run); });
  const auto run = [](std::uint8_t size, std::int64_t count) {
    return ElementRun{{size, size, Element::Kind::natural}, count};
  };
  EXPECT_EQ(runs,
            (std::vector<ElementRun>{run(4, 1), run(8, 2), run(1, 1), run(4, 1), run(8, 2), run(1, 1)}));
}

// Everything about random nested types against a list of their bytes.
class RandomFlatType : public testing::TestWithParam<bool> {};

TEST_P(RandomFlatType, AgreesWithAListOfItsBytes) {
  RandomTypes types{Random(17), false};
  for (int round = 0; round < 2000; ++round) {
    const int depth = 1 + static_cast<int>(types.random.below(4));
    const TypePair pair = GetParam() ? types.make_for_file(depth) : types.make(depth);
    SCOPED_TRACE(round);
    const auto size = static_cast<std::int64_t>(pair.naive.places.size());
    ASSERT_EQ(pair.flat.size(), size);
    ASSERT_EQ(pair.flat.lb(), pair.naive.lb);
    ASSERT_EQ(pair.flat.extent(), pair.naive.extent());
    const auto [low, high] = std::minmax_element(pair.naive.places.begin(), pair.naive.places.end());
    ASSERT_EQ(pair.flat.true_lb(), *low);
    ASSERT_EQ(pair.flat.true_extent(), *high + 1 - *low);
    ASSERT_EQ(pair.flat.external_size(), size);
    if (pair.flat.ascending()) {
      ASSERT_TRUE(std::is_sorted(pair.naive.places.begin(), pair.naive.places.end()));
      for (std::int64_t place = *low - 2; place <= *high + 2; place += 1 + types.below(3)) {
        const auto before = std::lower_bound(pair.naive.places.begin(), pair.naive.places.end(), place) -
                            pair.naive.places.begin();
        ASSERT_EQ(pair.flat.size_before(place), before) << place;
      }
    }
  }
}

TEST_P(RandomFlatType, CursorGivesTheBytesInOrderFromAnyPlace) {
  RandomTypes types{Random(23), false};
  for (int round = 0; round < 2000; ++round) {
    const int depth = 1 + static_cast<int>(types.random.below(4));
    const TypePair pair = GetParam() ? types.make_for_file(depth) : types.make(depth);
    SCOPED_TRACE(round);
    const std::int64_t count = 1 + types.below(4);
    const std::int64_t total = pair.flat.size() * count;
    TypeCursor cursor(pair.flat, 1000, types.random.chance(0.5) ? count : TypeCursor::kUnbounded);
    for (int jump = 0; jump < 4; ++jump) {
      std::int64_t at = jump == 0 ? 0 : types.below(static_cast<std::uint64_t>(total));
      if (jump > 0) cursor.seek(at);
      for (int step = 0; step < 30 && at < total; ++step) {
        ASSERT_EQ(cursor.position(), at);
        const std::int64_t most = types.random.chance(0.5) ? total - at : 1 + types.below(9);
        const TypeRun run = cursor.next(std::min(most, total - at));
        ASSERT_GT(run.length, 0);
        for (std::int64_t i = 0; i < run.length; ++i) ASSERT_EQ(run.offset + i, 1000 + pair.naive.at(at + i));
        at += run.length;
        if (run.length < most && at < total) {
          ASSERT_NE(1000 + pair.naive.at(at), run.offset + run.length) << "touching runs come as one";
        }
      }
    }
  }
}

TEST_P(RandomFlatType, SurvivesAJourney) {
  RandomTypes types{Random(29), false};
  for (int round = 0; round < 500; ++round) {
    const int depth = 1 + static_cast<int>(types.random.below(4));
    const TypePair pair = GetParam() ? types.make_for_file(depth) : types.make(depth);
    const auto bytes = pair.flat.encode(1 << 20);
    ASSERT_TRUE(bytes.has_value());
    const auto back = FlatType::decode(*bytes);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->extent(), pair.flat.extent());
    EXPECT_EQ(back->lb(), pair.flat.lb());
    EXPECT_EQ(runs_of(*back, 2), runs_of(pair.flat, 2));
    EXPECT_FALSE(pair.flat.encode(bytes->size() - 1).has_value());
    // Damaged messages are refused or give some type, never worse.
    for (int damage = 0; damage < 8; ++damage) {
      auto broken = *bytes;
      broken[types.random.below(broken.size())] = static_cast<std::byte>(types.random.next());
      if (types.random.chance(0.3)) broken.resize(types.random.below(broken.size()));
      const auto some = FlatType::decode(broken);
      if (!some.ok() || some->size() == 0) continue;
      EXPECT_GT(TypeCursor(*some, 0).next(1).length, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(MemoryAndFile, RandomFlatType, testing::Bool());

}  // namespace
}  // namespace tutti
