#include "layout/view.h"

#include <gtest/gtest.h>

#include <map>

#include "layout/view_range.h"
#include "tests/layout/naive_type.h"

namespace tutti {
namespace {

Extent extent(std::int64_t offset, std::int64_t length) {
  return {Bytes(static_cast<std::uint64_t>(offset)), Bytes(static_cast<std::uint64_t>(length))};
}

TEST(FileView, PlainViewIsTheFile) {
  const FileView view{100, 4, FlatType::bytes(4)};
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(view.file_offset(12), 112);
  EXPECT_EQ(view.data_before(112), 12);
  EXPECT_EQ(view.end_in_etypes(113), 4) << "a begun etype counts";
  EXPECT_EQ(view.end_in_etypes(50), 0);
  EXPECT_EQ(view.bounds(8, 20), extent(108, 20));
}

TEST(FileView, RefusesWhatTheStandardForbids) {
  const FlatType four = FlatType::bytes(4);
  EXPECT_TRUE((FileView{0, 4, FlatType::vector(3, 1, 12, four)}).validate(true).ok());
  EXPECT_EQ((FileView{-1, 4, four}).validate(false).code(), Code::invalid);
  EXPECT_EQ((FileView{0, 0, four}).validate(false).code(), Code::invalid);
  EXPECT_EQ((FileView{0, 8, four}).validate(false).code(), Code::invalid);
  EXPECT_EQ((FileView{0, 4, FlatType::empty()}).validate(false).code(), Code::invalid);
  EXPECT_EQ((FileView{0, 4, FlatType::vector(3, 1, -12, four)}).validate(false).code(), Code::io_error);
  const FlatType overlap = FlatType::vector(3, 1, 2, four);
  EXPECT_TRUE((FileView{0, 4, overlap}).validate(false).ok());
  EXPECT_EQ((FileView{0, 4, overlap}).validate(true).code(), Code::io_error);
}

TEST(FileView, OffsetsAgreeWithAListOfBytes) {
  RandomTypes types{Random(5), true};
  for (int round = 0; round < 1000; ++round) {
    const TypePair pair = types.make_for_file(1 + static_cast<int>(types.random.below(4)));
    const FileView view{types.below(50), 1, pair.flat};
    ASSERT_TRUE(view.validate(true).ok());
    ASSERT_TRUE(view.ascending());
    const std::int64_t total = pair.flat.size() * 3;
    for (int i = 0; i < 10; ++i) {
      const std::int64_t data = types.below(static_cast<std::uint64_t>(total));
      const std::int64_t place = view.displacement + pair.naive.at(data);
      ASSERT_EQ(view.file_offset(data), place);
      ASSERT_EQ(view.data_before(place), data);
      ASSERT_EQ(view.data_before(place + 1), data + 1);
    }
  }
}

// The next repetition lies in the holes of this one.
TEST(FileView, EndsWithTheFirstEtypeBehindTheFile) {
  for (const std::int64_t every : {8, 12, 20, 36}) {
    const FileView view{2, 4, FlatType::resized(0, 4, FlatType::vector(3, 1, every, FlatType::bytes(4)))};
    ASSERT_TRUE(view.validate(false).ok());
    for (std::int64_t length = 0; length < 200; ++length) {
      std::int64_t first = 0;
      while (view.file_offset(first * 4) < length) ++first;
      ASSERT_EQ(view.end_in_etypes(length), first) << "every " << every << ", length " << length;
    }
  }
}

// A range cut along the file: every byte of it is found once, and where it belongs.
void check_cuts(const ViewRange& range, const std::map<std::int64_t, std::int64_t>& expected,
                Random& random) {
  std::map<std::int64_t, std::int64_t> found;
  std::vector<PlacedRun> runs;
  std::int64_t at = static_cast<std::int64_t>(range.bounds().offset.count());
  const auto end = static_cast<std::int64_t>(range.bounds().end().count());
  while (at < end) {
    const std::int64_t step = std::min(end - at, 1 + static_cast<std::int64_t>(random.below(40)));
    runs.clear();
    range.cut(extent(at, step), runs);
    std::int64_t bytes = 0;
    for (const PlacedRun& run : runs) {
      bytes += run.length;
      for (std::int64_t i = 0; i < run.length; ++i) {
        EXPECT_TRUE(found.emplace(run.data + i, run.file + i).second);
      }
    }
    EXPECT_EQ(range.bytes_in(extent(at, step)), bytes);
    at += step;
  }
  EXPECT_EQ(found, expected);
}

TEST(ViewRange, CutsAgreeWithAListOfBytes) {
  RandomTypes types{Random(7), true};
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    TypePair pair = types.make_for_file(1 + static_cast<int>(types.random.below(3)));
    const bool interleaved = round % 3 == 0;  // repetitions that begin inside each other
    if (interleaved) {
      pair.flat = FlatType::resized(0, 3, pair.flat);
      pair.naive.lb = 0;
      pair.naive.ub = 3;
    }
    const FileView view{types.below(50), 1, pair.flat};
    const std::int64_t data = types.below(100);
    const std::int64_t bytes = types.below(150);
    const ViewRange range(view, data, bytes);
    std::map<std::int64_t, std::int64_t> expected;
    for (std::int64_t i = 0; i < bytes; ++i) expected[i] = view.displacement + pair.naive.at(data + i);
    check_cuts(range, expected, types.random);
    const auto encoded = range.encode(1 << 20);
    ASSERT_EQ(encoded.has_value(), range.ascending());
    if (!encoded || bytes == 0) continue;
    const auto back = ViewRange::decode(*encoded);
    ASSERT_TRUE(back.ok());
    check_cuts(*back, expected, types.random);
  }
}

TEST(ViewRange, ClippedRangeHasTheSameBytesInFileOrder) {
  RandomTypes types{Random(8), true};
  for (int round = 0; round < 300; ++round) {
    const TypePair pair = types.make_for_file(1 + static_cast<int>(types.random.below(3)));
    const ViewRange range(FileView{0, 1, pair.flat}, types.below(100), 200);
    const std::vector<Extent> parts{extent(types.below(40), types.below(60)), extent(120, types.below(100))};
    std::vector<PlacedRun> expected;
    for (const Extent& part : parts) range.cut(part, expected);
    const auto back = ViewRange::decode(range.encode_clipped(parts));
    ASSERT_TRUE(back.ok());
    std::vector<PlacedRun> got;
    for (const Extent& part : parts) back->cut(part, got);
    ASSERT_EQ(got.size(), expected.size());
    std::int64_t data = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i], (PlacedRun{expected[i].file, expected[i].length, data}));
      data += got[i].length;
    }
  }
}

}  // namespace
}  // namespace tutti
