#include "env/sim/store/page_cache.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr ObjectId kFirst{1};
constexpr ObjectId kSecond{2};

// Pages taken from one object before another's turn comes, in order.
std::vector<std::pair<std::uint64_t, std::uint64_t>> turns(PageCache& cache, std::uint64_t most) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  while (const auto range = cache.take_dirty(most)) {
    if (all.empty() || all.back().first != range->object.value) all.emplace_back(range->object.value, 0);
    all.back().second += range->count;
  }
  return all;
}

TEST(PageCache, WriteBackTurnsToTheNextFileAfter1024Pages) {
  PageCache cache(1_GiB);
  cache.write({kFirst, 0, 2500}, 1_s);
  cache.write({kSecond, 0, 1500}, 2_s);
  using Turns = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(turns(cache, 128), (Turns{{1, 1024}, {2, 1024}, {1, 1024}, {2, 476}, {1, 452}}));
  EXPECT_EQ(cache.dirty(), Bytes());
}

TEST(PageCache, ATurnIsNotLengthenedByLargeRequests) {
  PageCache cache(1_GiB);
  cache.write({kFirst, 0, 5000}, 1_s);
  cache.write({kSecond, 0, 1}, 2_s);
  EXPECT_EQ(cache.take_dirty(4096)->count, 1024U);
  EXPECT_EQ(cache.take_dirty(4096)->object, kSecond);
  EXPECT_EQ(cache.take_dirty(4096)->first, 1024U);
}

TEST(PageCache, AgeCountsFromTheFirstDirtyPageWhateverTheTurns) {
  PageCache cache(1_GiB);
  cache.write({kFirst, 0, 2000}, 1_s);
  cache.write({kSecond, 0, 2000}, 2_s);
  while (cache.take_dirty(512)->object == kFirst) {
  }
  EXPECT_EQ(cache.oldest_dirty(), 1_s);
  cache.drop(kFirst);
  EXPECT_EQ(cache.oldest_dirty(), 2_s);
  EXPECT_EQ(cache.take_dirty(512)->object, kSecond);
}

TEST(PageCache, AFileThatIsCleanedBySyncLosesItsTurn) {
  PageCache cache(1_GiB);
  cache.write({kFirst, 0, 600}, 1_s);
  cache.write({kSecond, 0, 1200}, 2_s);
  EXPECT_EQ(cache.take_dirty(500)->object, kFirst);
  EXPECT_EQ(cache.take_dirty(kFirst, 500)->count, 100U);
  std::uint64_t second = 0;
  while (const auto range = cache.take_dirty(500)) second += range->count;
  EXPECT_EQ(second, 1200U);
  EXPECT_EQ(cache.oldest_dirty(), Nanos::max());
}

}  // namespace
}  // namespace tutti
