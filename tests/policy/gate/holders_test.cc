#include "policy/gate/holders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "policy/gate/lock_table.h"

namespace tutti::gate {
namespace {

TEST(Holders, NobodyIsKeptWaitingBeforeAnythingIsKnown) {
  Holders holders;
  holders.ask(1, 1, Bytes(100), 0_s);
  holders.begin(1, 0_s);
  holders.ask(2, 2, Bytes(100), 0_s);
  EXPECT_EQ(holders.most(), Holders::kUnlimited);
  EXPECT_FALSE(holders.outlook(2, 0_s).has_value());
}

// 100 MB/s by one alone, 50 by two together.
void teach(Holders& holders, Nanos& now) {
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::uint64_t n = 1 + i % 2;
    for (std::uint64_t writer = 1; writer <= n; ++writer) {
      holders.ask(writer, 100 + writer, Bytes(100'000'000), now);
      holders.begin(writer, now);
    }
    now += n == 1 ? 1_s : 4_s;
    for (std::uint64_t writer = 1; writer <= n; ++writer) holders.end(writer, Bytes(100'000'000), now);
  }
}

TEST(Holders, TheOutlookOfTwoAlike) {
  Holders holders;
  Nanos now;
  teach(holders, now);
  holders.ask(1, 1, Bytes(1'000'000'000), now);
  holders.begin(1, now);
  holders.ask(2, 2, Bytes(1'000'000'000), now);
  const auto ahead = holders.outlook(2, now);
  ASSERT_TRUE(ahead.has_value());
  EXPECT_NEAR(ahead->begins, 10, 0.1);
  EXPECT_NEAR(ahead->ends, 20, 0.2);
  EXPECT_NEAR(ahead->ends_beside, 40, 0.5);
  EXPECT_NEAR(ahead->gain, 30 + 20, 1);  // the other ends 30 s earlier too
  EXPECT_NEAR(ahead->credit, 10, 0.1);   // what is advanced to it
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

// Jobs that compute and write in turns on storage that moves 100 MB/s whoever writes, with the table or without. Seconds of
// I/O of each.
struct Loop {
  double compute = 0;
  double size = 0;  // bytes
};
std::vector<double> run(const std::vector<Loop>& jobs, int checkpoints, LockTable* table) {
  struct State {
    enum { computing, waiting, writing, over } phase = computing;
    double until = 0;
    double left = 0;
    double asked = 0;
    int done = 0;
  };
  std::vector<State> states(jobs.size());
  std::vector<double> io(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) states[i].until = jobs[i].compute;
  double now = 0;
  const auto time = [&now] { return Nanos::from_seconds(now); };
  const auto take = [&] {
    if (table == nullptr) return;
    for (const Decision& each : table->take_decisions()) {
      State& state = states[each.name.job - 1];
      if (state.phase == State::waiting && each.answer.standing == Standing::granted)
        state.phase = State::writing;
    }
  };
  for (;;) {
    double writers = 0;
    double next = 1e9;
    for (const State& each : states) writers += each.phase == State::writing ? 1 : 0;
    for (const State& each : states) {
      if (each.phase == State::computing) next = std::min(next, each.until);
      if (each.phase == State::writing)
        next = std::min(next, now + std::max(0.0, each.left) * writers / 100e6 + 1e-8);
    }
    if (table != nullptr && table->next() < 1'000'000_s)
      next = std::min(next, std::max(now, table->next().seconds()));
    if (next >= 1e9) return io;
    for (State& each : states) {
      if (each.phase == State::writing) each.left -= (next - now) * 100e6 / writers;
    }
    now = next;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      State& state = states[i];
      const AskName name{i + 1, static_cast<std::uint64_t>(state.done)};
      const Bytes size(static_cast<std::uint64_t>(jobs[i].size));
      if (state.phase == State::writing && state.left <= 0.5) {
        io[i] += now - state.asked;
        if (table != nullptr) (void)table->release(name, size, time());
        state.phase = ++state.done == checkpoints ? State::over : State::computing;
        state.until = now + jobs[i].compute;
      } else if (state.phase == State::computing && state.until <= now) {
        state.asked = now;
        state.left = jobs[i].size;
        state.phase = State::writing;
        if (table != nullptr && table->ask({name, {"0"}, size}, time()).standing == Standing::waiting) {
          state.phase = State::waiting;
        }
      }
      take();
    }
    if (table != nullptr) table->advance(time());
    take();
  }
}

// Where nobody disturbs anybody. Each of these, in turn, would wait for the next slower one at every checkpoint.
TEST(DefaultGate, WhoLosesTimeByWaitingStopsWaiting) {
  std::vector<Loop> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back({100.0 + 2 * i, 500e6});
  LockOptions options;
  options.lease = 1'000'000'000_s;
  LockTable table(options);
  table.reserve(1, 1'000'000);
  const std::vector<double> nothing = run(jobs, 60, nullptr);
  const std::vector<double> gate = run(jobs, 60, &table);
  options.order = Order::preserved;
  LockTable plain(options);
  plain.reserve(1, 1'000'000);
  const std::vector<double> lock = run(jobs, 60, &plain);
  double worst = 0;
  double worst_of_lock = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    worst = std::max(worst, gate[i] / nothing[i]);
    worst_of_lock = std::max(worst_of_lock, lock[i] / nothing[i]);
  }
  EXPECT_LE(worst, 1.10);
  EXPECT_GE(worst_of_lock, 1.3);  // or this would show nothing
}

}  // namespace
}  // namespace tutti::gate
