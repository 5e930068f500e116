#include "layout/view_share.h"

#include <gtest/gtest.h>

#include "tests/layout/naive_type.h"

namespace tutti {
namespace {

constexpr std::int64_t kEnd = std::int64_t{1} << 62;

void append(std::vector<Extent>& list, std::uint64_t offset) {
  if (!list.empty() && list.back().end() == Bytes(offset)) {
    list.back().length += 1_B;
  } else {
    list.push_back({Bytes(offset), 1_B});
  }
}

// Byte by byte.
ViewShare naive_share(const FileView& view, const NaiveType& type, const Layout& layout, std::uint32_t slot,
                      std::int64_t offset, std::int64_t bytes) {
  ViewShare share;
  for (std::int64_t i = 0; i < bytes; ++i) {
    const Bytes place(static_cast<std::uint64_t>(view.displacement + type.at(offset + i)));
    if (layout.slot_of(place) != slot) continue;
    append(share.object, layout.object_offset(place).count());
    append(share.data, static_cast<std::uint64_t>(i));
    share.length += 1_B;
  }
  return share;
}

TEST(ViewShare, AgreesWithAListOfBytes) {
  RandomTypes types{Random(11), true};
  for (int round = 0; round < 600; ++round) {
    const TypePair pair = types.make_for_file(1 + static_cast<int>(types.random.below(4)));
    const FileView view{types.below(3000), 1, pair.flat};
    const auto servers = static_cast<std::uint32_t>(1 + types.below(4));
    const Layout layout{512_B, servers, 0, servers};
    const std::int64_t offset = types.below(2000);
    const std::int64_t bytes = 1 + types.below(4000);
    for (std::uint32_t slot = 0; slot < servers; ++slot) {
      ViewShare share;
      ASSERT_TRUE(find_share(view, layout, slot, offset, bytes, kEnd, {}, share).ok());
      const ViewShare expected = naive_share(view, pair.naive, layout, slot, offset, bytes);
      ASSERT_EQ(share.length, expected.length);
      ASSERT_EQ(share.object, expected.object);
      ASSERT_EQ(share.data, expected.data);
    }
  }
}

TEST(ViewShare, RepetitionsThatInterleaveAreFoundToo) {
  // Two bytes, six left out, two bytes; the next repetition lies in the gap.
  const FlatType two = FlatType::resized(0, 4, FlatType::vector(2, 1, 8, FlatType::bytes(2)));
  const FileView view{0, 1, two};
  ASSERT_TRUE(view.validate(true).ok());
  ASSERT_FALSE(view.ascending());
  const Layout layout{512_B, 2, 0, 2};
  ViewShare share;
  ASSERT_TRUE(find_share(view, layout, 0, 0, 8, kEnd, {}, share).ok());
  const std::vector<Extent> expected = {{0_B, 2_B}, {8_B, 2_B}, {4_B, 2_B}, {12_B, 2_B}};
  EXPECT_EQ(share.object, expected);
}

TEST(ViewShare, OtherServersBytesAreJumpedOver) {
  // Single bytes, every second one, of which a server of 1,024 has one stripe in a while.
  const FileView view{0, 1, FlatType::resized(0, 2, FlatType::bytes(1))};
  const Layout layout{512_B, 1024, 0, 1024};
  ViewShare share;
  ViewShareLimits limits;
  limits.steps = 3000;
  ASSERT_TRUE(find_share(view, layout, 7, 0, 1 << 20, kEnd, limits, share).ok());
  EXPECT_EQ(share.length, Bytes((1U << 20U) / 1024));
}

TEST(ViewShare, WhatCostsTooMuchIsRefused) {
  const FileView view{0, 1, FlatType::resized(0, 2, FlatType::bytes(1))};
  const Layout one{64_KiB, 1, 0, 1};
  ViewShare share;
  ViewShareLimits limits;
  limits.extents = 100;
  EXPECT_TRUE(find_share(view, one, 0, 0, 100, kEnd, limits, share).ok());
  EXPECT_EQ(find_share(view, one, 0, 0, 102, kEnd, limits, share).code(), Code::too_large);
  EXPECT_LE(share.object.capacity(), 256U) << "no memory for what is refused";
  // One run over so many stripes that it would take for ever.
  const FileView whole{0, 1, FlatType::contiguous(kEnd / 4, FlatType::bytes(1))};
  const Layout small{512_B, 2, 0, 2};
  EXPECT_EQ(find_share(whole, small, 0, 0, kEnd / 8, kEnd, {}, share).code(), Code::too_large);
}

TEST(ViewShare, RangesPastTheLargestOffsetAreRefused) {
  const FileView far{kEnd - 100, 1, FlatType::resized(0, 64, FlatType::bytes(1))};
  const Layout layout{64_KiB, 1, 0, 1};
  ViewShare share;
  EXPECT_TRUE(find_share(far, layout, 0, 0, 2, kEnd, {}, share).ok());
  EXPECT_EQ(find_share(far, layout, 0, 0, 3, kEnd, {}, share).code(), Code::too_large);
  EXPECT_EQ(find_share(far, layout, 0, kEnd - 1, 1, kEnd, {}, share).code(), Code::too_large);
  EXPECT_EQ(find_share(far, layout, 0, 0, 0, kEnd, {}, share).code(), Code::too_large);
  EXPECT_EQ(find_share(far, layout, 0, -1, 5, kEnd, {}, share).code(), Code::too_large);
}

// --- what is known of an encoded type before it is made ---

TEST(FlatSummary, AgreesWithTheTypeItself) {
  for (const bool file : {true, false}) {
    RandomTypes types{Random(file ? 21 : 22), file};
    for (int round = 0; round < 1000; ++round) {
      const TypePair pair = types.make(1 + static_cast<int>(types.random.below(4)));
      const auto bytes = pair.flat.encode(1 << 20);
      ASSERT_TRUE(bytes.has_value());
      const auto summary = FlatType::summarize(*bytes);
      ASSERT_TRUE(summary.ok());
      const auto decoded = FlatType::decode(*bytes);
      ASSERT_TRUE(decoded.ok());
      ASSERT_EQ(summary->size, decoded->size());
      ASSERT_EQ(summary->extent, decoded->extent());
      ASSERT_EQ(summary->ascending, decoded->ascending());
      ASSERT_EQ(summary->sorted, decoded->sorted());
      if (decoded->size() == 0) continue;
      ASSERT_EQ(summary->low, decoded->true_lb());
      ASSERT_EQ(summary->high, decoded->true_lb() + decoded->true_extent());
      ASSERT_GE(summary->memory, decoded->memory());
    }
  }
}

// What passes is decoded without an overflow: the sanitizers say so.
TEST(FlatSummary, GarbageIsRefusedOrHarmless) {
  RandomTypes types{Random(23), false};
  int passed = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::vector<std::byte> bytes = *types.make(3).flat.encode(1 << 20);
    for (int change = 0; change < 3; ++change) {
      const auto at = static_cast<std::size_t>(types.random.below(bytes.size()));
      switch (types.random.below(3)) {
        case 0:
          bytes[at] = static_cast<std::byte>(types.random.next());
          break;
        case 1:  // a huge number
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), 8, std::byte{0xff});
          break;
        default:
          bytes.resize(at + 1);
      }
    }
    const auto summary = FlatType::summarize(bytes);
    if (!summary.ok()) continue;
    const auto type = FlatType::decode(bytes);
    if (!type.ok()) continue;
    ++passed;
    EXPECT_EQ(type->size(), summary->size);
    if (type->size() > 0) {
      EXPECT_EQ(type->true_lb(), summary->low);
    }
  }
  EXPECT_GT(passed, 100);
}

}  // namespace
}  // namespace tutti
