#include "env/sim/store/two_windows.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace tutti {
namespace {

constexpr std::uint64_t kMost = 32;
using Fetched = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// A file of which nothing is in memory but what was read.
class Reader {
 public:
  // What one read of these pages has the device asked for.
  Fetched read(std::uint64_t first, std::uint64_t count) {
    Fetched fetched;
    std::uint64_t asked = first;
    for (std::uint64_t page = first; page < first + count; ++page) {
      if (page >= asked) {
        asked =
            windows_.next(page, first + count - page, kMost, [&](std::uint64_t from, std::uint64_t length) {
              std::uint64_t missing = 0;
              for (std::uint64_t each = from; each < from + length; ++each)
                missing += present_.insert(each).second ? 1 : 0;
              if (missing > 0) fetched.emplace_back(from, length);
              return missing;
            });
      }
      if (present_.insert(page).second) {
        windows_.missed();
        fetched.emplace_back(page, 1);
      }
    }
    return fetched;
  }
  void have(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t page = first; page < first + count; ++page) present_.insert(page);
  }

 private:
  TwoWindows windows_;
  std::set<std::uint64_t> present_;
};

TEST(TwoWindows, ASequentialReaderHasTheNextWindowReadWhileItIsInTheLastOne) {
  Reader reader;
  EXPECT_EQ(reader.read(0, 16), (Fetched{{0, 32}}));
  EXPECT_EQ(reader.read(16, 16), (Fetched{{32, 32}}));
  EXPECT_EQ(reader.read(32, 16), (Fetched{{64, 32}}));
  EXPECT_EQ(reader.read(48, 16), (Fetched{}));
  EXPECT_EQ(reader.read(64, 16), (Fetched{{96, 32}}));
}

TEST(TwoWindows, AReadElsewhereThrowsTheWindowsAway) {
  Reader reader;
  reader.read(0, 16);
  reader.read(16, 16);
  EXPECT_EQ(reader.read(1000, 16), (Fetched{{1000, 16}})) << "just what was asked for";
  EXPECT_EQ(reader.read(64, 16), (Fetched{{64, 16}})) << "what followed before does not follow any more";
  EXPECT_EQ(reader.read(80, 16), (Fetched{{80, 32}})) << "two in a row begin anew";
}

TEST(TwoWindows, ALargeReadHasTwoWindowsUnderWayAtOnce) {
  Reader reader;
  EXPECT_EQ(reader.read(0, 64), (Fetched{{0, 32}, {32, 32}, {64, 32}}));
  EXPECT_EQ(reader.read(64, 64), (Fetched{{96, 32}, {128, 32}}));
}

TEST(TwoWindows, ALargeReadElsewhereBeginsWithOneWindow) {
  Reader reader;
  EXPECT_EQ(reader.read(1000, 64), (Fetched{{1000, 32}, {1032, 32}, {1064, 32}}));
}

TEST(TwoWindows, WhatIsInMemoryAllTheTimeEndsReadAheadUntilSomethingIsMissing) {
  Reader reader;
  reader.have(0, 512);
  for (std::uint64_t page = 0; page < 512; page += 16) EXPECT_EQ(reader.read(page, 16), (Fetched{})) << page;
  EXPECT_EQ(reader.read(512, 16), (Fetched{{512, 1}, {513, 32}}));
}

TEST(TwoWindows, ASizeOfZeroReadsWhatIsAskedFor) {
  TwoWindows windows;
  Fetched fetched;
  const auto fetch = [&](std::uint64_t first, std::uint64_t count) {
    fetched.emplace_back(first, count);
    return count;
  };
  EXPECT_EQ(windows.next(0, 64, 0, fetch), 64U);
  EXPECT_EQ(fetched, (Fetched{{0, 64}}));
}

}  // namespace
}  // namespace tutti
