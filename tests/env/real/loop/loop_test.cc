#include "env/real/loop/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "env/scope.h"

namespace tutti {
namespace {

Task<Nanos> sleep_and_measure(Clock& clock, Nanos duration) {
  const Nanos start = clock.now();
  co_await clock.sleep(duration);
  co_return clock.now() - start;
}

TEST(Loop, SleepLastsAtLeastAsLongAsAskedFor) {
  Loop loop;
  EXPECT_GE(loop.run(sleep_and_measure(loop.clock(), 2_ms)), 2_ms);
}

TEST(Loop, RunOnceWaitsNoLongerThanItsTimeout) {
  Loop loop;
  const Nanos start = loop.clock().now();
  loop.run_once(1_ms);
  EXPECT_GE(loop.clock().now() - start, 1_ms);
}

// As a program that computes: nobody drives the loop.
void compute(Loop& loop, Nanos duration) {
  const Nanos start = loop.clock().steady();
  while (loop.clock().steady() - start < duration) {
  }
}

Task<void> sleep_for(Clock& clock, Nanos duration, bool& over) {
  co_await clock.sleep(duration);
  over = true;
}

TEST(Loop, TimeInWhichNobodyDrivesItDoesNotCountBeyondTheGap) {
  Loop loop;
  loop.clock().stand_still_after(5_ms);
  Scope scope(loop.executor());
  bool over = false;
  scope.spawn(sleep_for(loop.clock(), 40_ms, over));
  loop.run_once(Nanos(0));
  const Nanos start = loop.clock().now();
  const Nanos steady = loop.clock().steady();
  compute(loop, 60_ms);
  EXPECT_LE(loop.clock().now() - start, 5_ms);
  loop.run_once(Nanos(0));
  EXPECT_FALSE(over);
  EXPECT_GE(loop.clock().steady() - steady, 60_ms);
  // Driven, it goes on.
  loop.run(sleep_and_measure(loop.clock(), 40_ms));
  EXPECT_TRUE(over);
}

// As a process that is stopped while it waits.
TEST(Loop, TimeInWhichTheProcessIsStoppedDoesNotCountBeyondASecond) {
  Loop loop;
  loop.clock().stand_still_after(5_ms);
  static Loop* const kStopped = &loop;
  struct sigaction action = {};
  action.sa_handler = [](int /*signal*/) { compute(*kStopped, 2_s); };
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  Scope scope(loop.executor());
  bool over = false;
  scope.spawn(sleep_for(loop.clock(), 1500_ms, over));
  const Nanos start = loop.clock().now();
  const Nanos steady = loop.clock().steady();
  const itimerval once{{0, 0}, {0, 20'000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &once, nullptr), 0);
  loop.run_once(10_s);
  ASSERT_EQ(sigaction(SIGALRM, &before, nullptr), 0);
  EXPECT_GE(loop.clock().steady() - steady, 2_s);
  EXPECT_LE(loop.clock().now() - start, 1100_ms);
  EXPECT_FALSE(over);
}

TEST(Loop, ShortGapsCount) {
  Loop loop;
  loop.clock().stand_still_after(1_s);
  const Nanos start = loop.clock().now();
  loop.run_once(Nanos(0));
  compute(loop, 5_ms);
  loop.run_once(Nanos(0));
  EXPECT_GE(loop.clock().now() - start, 5_ms);
}

Task<void> set_event(Event& event) {
  event.set();
  co_return;
}

Task<bool> wait_event(Event& event) {
  co_await event.wait();
  co_return true;
}

TEST(Loop, TaskThatEndsWithoutAnyEventDoesNotWaitForOne) {
  Loop loop;
  Event event(loop.executor());
  Scope scope(loop.executor());
  scope.spawn(set_event(event));
  EXPECT_TRUE(loop.run(wait_event(event)));
}

Task<void> stop_after(Loop& loop, Nanos duration) {
  co_await loop.clock().sleep(duration);
  loop.stop();
}

TEST(Loop, RunsUntilStopped) {
  Loop loop;
  Scope scope(loop.executor());
  scope.spawn(stop_after(loop, 1_ms));
  loop.run();
  EXPECT_EQ(scope.size(), 0U);
}

Task<char> read_byte(FdWatch& watch, int fd) {
  for (;;) {
    char byte = 0;
    if (::read(fd, &byte, 1) == 1) co_return byte;
    watch.drained();
    co_await watch.readable();
  }
}

TEST(Loop, ReadableDescriptorResumesItsReader) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_NONBLOCK | O_CLOEXEC), 0);
  {
    Loop loop;
    FdWatch watch;
    ASSERT_TRUE(watch.add(loop, pipe[0]).ok());
    for (const char byte : {'a', 'b', 'c'}) {
      ASSERT_EQ(::write(pipe[1], &byte, 1), 1);
      EXPECT_EQ(loop.run(read_byte(watch, pipe[0])), byte);
    }
  }
  ::close(pipe[0]);
  ::close(pipe[1]);
}

Task<void> spin(Loop& loop, bool& go_on, int& turns) {
  while (go_on) {
    ++turns;
    co_await loop.next_turn();
  }
}

TEST(Loop, NextTurnLetsDescriptorsAndTimersIn) {
  Loop loop;
  Scope scope(loop.executor());
  bool go_on = true;
  int turns = 0;
  scope.spawn(spin(loop, go_on, turns));
  loop.run(sleep_and_measure(loop.clock(), 1_ms));
  EXPECT_GT(turns, 1);
  go_on = false;
  while (scope.size() > 0) loop.run_once(1_ms);
}

TEST(Loop, SignalsBecomeValues) {
  Loop loop;
  Result<std::unique_ptr<Signals>> signals = Signals::watch(loop, {SIGUSR1, SIGUSR2});
  ASSERT_TRUE(signals.ok());
  ::raise(SIGUSR2);
  EXPECT_EQ(loop.run((*signals)->next()), SIGUSR2);
  ::raise(SIGUSR1);
  EXPECT_EQ(loop.run((*signals)->next()), SIGUSR1);
}

}  // namespace
}  // namespace tutti
