#include "policy/gate/holders.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "policy/gate/lock_table.h"

namespace tutti::gate {
namespace {

// One after the other: `n` writers at once for `seconds`, each of which writes what the curve gives it.
void write_together(Holders& holders, std::uint32_t n, const std::function<double(std::uint32_t)>& rate,
                    double seconds, Nanos& now) {
  for (std::uint32_t i = 0; i < n; ++i) {
    holders.ask(i + 1, i + 1, Bytes(), now);
    holders.begin(i + 1, now);
  }
  now += Nanos::from_seconds(seconds);
  for (std::uint32_t i = 0; i < n; ++i) {
    holders.end(i + 1, Bytes(static_cast<std::uint64_t>(rate(n) / n * seconds)), now);
  }
}

TEST(Holders, OneAloneIsTriedFirst) {
  Holders holders;
  EXPECT_EQ(holders.most(), 1U);
  EXPECT_EQ(holders.rate(1), 0);
}

TEST(Holders, RatesAreLearnedFromWhatWasWritten) {
  Holders holders;
  Nanos now;
  const auto rate = [](std::uint32_t n) { return n == 1 ? 80e6 : 40e6; };
  for (int i = 0; i < 3; ++i) {
    write_together(holders, 1, rate, 10, now);
    write_together(holders, 2, rate, 10, now);
  }
  EXPECT_NEAR(holders.rate(1), 80e6, 1e6);
  EXPECT_NEAR(holders.rate(2), 40e6, 1e6);
  EXPECT_EQ(holders.most(), 1U);
}

// As many as most() says write at once, and now and then some more: it settles at the number that fills the storage.
TEST(Holders, TheLeastNumberThatFillsTheStorageIsFound) {
  for (const std::uint32_t saturated : {1U, 2U, 4U, 8U}) {
    SCOPED_TRACE(saturated);
    Holders holders;
    Nanos now;
    const auto rate = [saturated](std::uint32_t n) {
      return n <= saturated ? 10e6 * n : 10e6 * saturated * (n >= 2 * saturated ? 0.5 : 0.8);
    };
    for (const std::uint32_t n : {1U, 2U, 3U, 5U, 8U, 12U}) write_together(holders, n, rate, 10, now);
    for (int i = 0; i < 4; ++i) write_together(holders, holders.most(), rate, 10, now);
    EXPECT_EQ(holders.most(), saturated);
  }
}

TEST(Holders, TheUngatedWorldSharesEvenly) {
  Holders holders;
  Nanos now;
  const auto rate = [](std::uint32_t) { return 100e6; };
  write_together(holders, 1, rate, 1, now);
  write_together(holders, 2, rate, 1, now);
  // 1 GB and 0.1 GB at once at 100 MB/s: the small one has 50 MB/s and ends after 2 s, the large one after 11.
  holders.ask(1, 1, Bytes(1'000'000'000), now);
  holders.ask(2, 2, Bytes(100'000'000), now);
  EXPECT_NEAR((*holders.ungated_end(2, now) - now).seconds(), 2, 0.02);
  EXPECT_NEAR((*holders.ungated_end(1, now) - now).seconds(), 11, 0.05);
  EXPECT_LT(holders.ungated_tag(2), holders.ungated_tag(1));
  holders.begin(1, now);
  EXPECT_NEAR((*holders.begin_by_waiting(2, now) - now).seconds(), 10, 0.05);
  EXPECT_NEAR(holders.duration(2, 0)->seconds(), 1, 0.01);
}

struct Learned : LockTable {
  Learned() : LockTable(LockOptions()) { reserve(1, 1'000'000); }
  Standing asks(std::uint64_t job, std::uint64_t number, Bytes size, Nanos now) {
    return ask({{job, number}, {"0"}, size}, now).standing;
  }
  // One writer moves 100 MB/s, two half of it.
  void teach(Nanos& now) {
    for (std::uint64_t i = 1; i <= 4; ++i) {
      ask({{100, i}, {"0"}, Bytes(100'000'000)}, now);
      now += 1_s;
      (void)release({100, i}, Bytes(100'000'000), now);
      ask({{100, 10 + i}, {"0"}, Bytes(100'000'000)}, now);
      ask({{101, 10 + i}, {"0"}, Bytes(100'000'000)}, now);
      if (answer({101, 10 + i}).standing == Standing::granted) {
        now += 4_s;
        (void)release({100, 10 + i}, Bytes(100'000'000), now);
        (void)release({101, 10 + i}, Bytes(100'000'000), now);
      } else {
        now += 1_s;
        (void)release({100, 10 + i}, Bytes(100'000'000), now);
        now += 1_s;
        (void)release({101, 10 + i}, Bytes(100'000'000), now);
      }
      (void)take_decisions();
    }
  }
};

TEST(DefaultGate, JobsAlikeGoOneAfterTheOtherWhereTheyDisturb) {
  Learned table;
  Nanos now;
  table.teach(now);
  EXPECT_EQ(table.asks(1, 1, Bytes(1'000'000'000), now), Standing::granted);
  EXPECT_EQ(table.asks(2, 1, Bytes(1'000'000'000), now + 1_ms), Standing::waiting);
  (void)table.release({1, 1}, Bytes(1'000'000'000), now + 10_s);
  EXPECT_EQ(table.answer({2, 1}).standing, Standing::granted);
}

TEST(DefaultGate, ASmallJobDoesNotWaitForALargeOne) {
  Learned table;
  Nanos now;
  table.teach(now);
  EXPECT_EQ(table.asks(1, 1, Bytes(10'000'000'000), now), Standing::granted);
  EXPECT_EQ(table.asks(2, 1, Bytes(100'000'000), now + 1_ms), Standing::granted);  // beside it
}

TEST(DefaultGate, SmallOnesThatWaitGoFirst) {
  Learned table;
  Nanos now;
  table.teach(now);
  EXPECT_EQ(table.asks(1, 1, Bytes(1'000'000'000), now), Standing::granted);
  EXPECT_EQ(table.asks(2, 1, Bytes(2'000'000'000), now + 1_ms), Standing::waiting);
  EXPECT_EQ(table.asks(3, 1, Bytes(900'000'000), now + 2_ms), Standing::waiting);
  (void)table.release({1, 1}, Bytes(1'000'000'000), now + 10_s);
  EXPECT_EQ(table.answer({3, 1}).standing, Standing::granted);
  EXPECT_EQ(table.answer({2, 1}).standing, Standing::waiting);
}

TEST(DefaultGate, WhoWaitsForAHolderThatIsLateWritesBesideIt) {
  Learned table;
  Nanos now;
  table.teach(now);
  EXPECT_EQ(table.asks(1, 1, Bytes(1'000'000'000), now), Standing::granted);
  EXPECT_EQ(table.asks(2, 1, Bytes(1'000'000'000), now + 1_ms), Standing::waiting);
  // It should have ended after 10 s, and without a gate both would have after 40.
  const Nanos asked = now;
  while (table.answer({2, 1}).standing == Standing::waiting && now < asked + 100_s) {
    now = std::min(table.next(), asked + 100_s);
    table.renew(1, now);
    table.renew(2, now);
    table.advance(now);
  }
  EXPECT_EQ(table.answer({2, 1}).standing, Standing::granted);
  EXPECT_LT(now, asked + 45_s);
}

}  // namespace
}  // namespace tutti::gate
