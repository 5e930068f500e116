#include "policy/gate/rates.h"

#include <gtest/gtest.h>

#include <functional>

namespace tutti::gate {
namespace {

// `n` writers at once for `seconds`, each of which writes what the curve gives it.
void write_together(Rates& rates, std::uint32_t n, const std::function<double(std::uint32_t)>& rate,
                    double seconds) {
  for (std::uint32_t i = 0; i < n; ++i) rates.observe({{n, seconds}}, rate(n) / n * seconds);
}

TEST(Rates, NothingIsKnownAtFirst) {
  const Rates rates;
  EXPECT_FALSE(rates.known());
  EXPECT_EQ(rates.per_writer(3), 0);
  EXPECT_EQ(rates.enough(), 0U);
}

TEST(Rates, AreLearnedFromWhatWasWritten) {
  Rates rates;
  const auto rate = [](std::uint32_t n) { return n == 1 ? 80e6 : 40e6; };
  for (int i = 0; i < 3; ++i) {
    write_together(rates, 1, rate, 10);
    write_together(rates, 2, rate, 10);
  }
  EXPECT_NEAR(rates.together(1), 80e6, 1e6);
  EXPECT_NEAR(rates.together(2), 40e6, 1e6);
  EXPECT_EQ(rates.enough(), 1U);
}

// As many as enough() says write at once, and now and then some more: it settles at the number that fills the storage.
TEST(Rates, TheLeastNumberThatFillsTheStorageIsFound) {
  for (const std::uint32_t saturated : {1U, 2U, 4U, 8U}) {
    SCOPED_TRACE(saturated);
    Rates rates;
    const auto rate = [saturated](std::uint32_t n) {
      return n <= saturated ? 10e6 * n : 10e6 * saturated * (n >= 2 * saturated ? 0.5 : 0.8);
    };
    for (const std::uint32_t n : {1U, 2U, 3U, 5U, 8U, 12U}) write_together(rates, n, rate, 10);
    for (int i = 0; i < 4; ++i) write_together(rates, rates.enough(), rate, 10);
    EXPECT_EQ(rates.enough(), saturated);
  }
}

TEST(Rates, NumbersThatWereNotSeenAreTakenToBeGood) {
  Rates rates;
  rates.observe({{4, 10}}, 100e6);  // 10 MB/s each
  EXPECT_NEAR(rates.together(2), 40e6, 1);
  EXPECT_NEAR(rates.together(6), 60e6, 1);
}

// The first who ends was alone for a moment and then one of ten: nothing of that says that one alone is as slow as one of ten.
TEST(Rates, TheFirstWriterDoesNotMakeOneAloneLookSlow) {
  Rates rates;
  rates.observe({{1, 1}, {10, 99}}, 100e6 + 99 * 5e6);
  EXPECT_GT(rates.per_writer(1), 5 * rates.per_writer(10));
}

TEST(Rates, AnObservationThatChangesWhatWasThoughtSaysSo) {
  Rates rates;
  EXPECT_TRUE(rates.observe({{1, 10}}, 1000e6));
  EXPECT_FALSE(rates.observe({{1, 10}}, 1000e6));
  EXPECT_TRUE(rates.observe({{2, 10}}, 200e6));  // was thought to be 100 MB/s each
}

}  // namespace
}  // namespace tutti::gate
