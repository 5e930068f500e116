#include <gtest/gtest.h>

#include "env/combine.h"
#include "env/scope.h"
#include "env/sync.h"

namespace tutti {
namespace {

// A clock that the test moves by hand.
class ManualClock : public Clock {
 public:
  using Clock::Clock;
  [[nodiscard]] Nanos now() const override { return now_; }
  [[nodiscard]] Nanos wall() const override { return now_; }
  void advance(Nanos by) {
    now_ += by;
    executor().fire_due(now_);
    executor().run_ready();
  }

 private:
  Nanos now_;
};

class Runtime : public testing::Test {
 protected:
  Executor executor_;
  ManualClock clock_{executor_};
};

Task<int> ready(int value) { co_return value; }

Task<void> sum_of_ready(int count, long& sum) {
  for (int i = 0; i < count; ++i) sum += co_await ready(i);
}

TEST_F(Runtime, LongLoopOfReadyTasksUsesNoStack) {
  Scope scope(executor_);
  long sum = 0;
  scope.spawn(sum_of_ready(1'000'000, sum));
  executor_.run_ready();
  EXPECT_EQ(sum, 499'999'500'000);
  EXPECT_EQ(scope.size(), 0U);
}

struct Tracer {
  explicit Tracer(int& destroyed) : destroyed(destroyed) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() { ++destroyed; }
  int& destroyed;
};

Task<void> sleeper(Clock& clock, Nanos duration, int& woken, int& destroyed) {
  const Tracer tracer(destroyed);
  co_await clock.sleep(duration);
  ++woken;
}

TEST_F(Runtime, TimersFireInOrderOfDeadlineThenOfArming) {
  std::vector<int> order;
  struct Probe : Timer {
    Probe(std::vector<int>& order, int name)
        : Timer([](Timer* self) {
            auto* probe = static_cast<Probe*>(self);
            probe->order.push_back(probe->name);
          }),
          order(order),
          name(name) {}
    std::vector<int>& order;
    int name;
  };
  Probe a(order, 1);
  Probe b(order, 2);
  Probe c(order, 3);
  Probe d(order, 4);
  executor_.arm(a, 20_ms);
  executor_.arm(b, 10_ms);
  executor_.arm(c, 10_ms);
  executor_.arm(d, 15_ms);
  d.disarm();
  clock_.advance(30_ms);
  EXPECT_EQ(order, (std::vector<int>{2, 3, 1}));
}

TEST_F(Runtime, TimerHeapSurvivesManyRandomArmsAndDisarms) {
  std::vector<std::int64_t> fired;
  struct Probe : Timer {
    Probe()
        : Timer([](Timer* self) {
            static_cast<Probe*>(self)->fired->push_back(static_cast<Probe*>(self)->at);
          }) {}
    std::vector<std::int64_t>* fired = nullptr;
    std::int64_t at = 0;
  };
  std::vector<std::unique_ptr<Probe>> probes;
  std::uint64_t state = 1;
  std::size_t expected = 0;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    probes.push_back(std::make_unique<Probe>());
    probes.back()->fired = &fired;
    probes.back()->at = static_cast<std::int64_t>((state >> 33U) % 1000);
    executor_.arm(*probes.back(), Nanos(probes.back()->at));
    ++expected;
    if (i % 3 == 0) {
      auto& victim = probes[static_cast<std::size_t>((state >> 20U) % probes.size())];
      if (victim->armed()) {
        victim->disarm();
        --expected;
      }
    }
  }
  clock_.advance(1_us);
  EXPECT_EQ(fired.size(), expected);
  EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end()));
}

TEST_F(Runtime, AStartedTaskRunsAtOnceAndBelongsToItsScopeIfItWaits) {
  int woken = 0;
  int destroyed = 0;
  Scope scope(executor_);
  long sum = 0;
  scope.start(sum_of_ready(10, sum));
  EXPECT_EQ(sum, 45) << "nothing has run since";
  EXPECT_EQ(scope.size(), 0U);
  scope.start(sleeper(clock_, 1_ms, woken, destroyed));
  scope.start(sleeper(clock_, 5_ms, woken, destroyed));
  EXPECT_EQ(scope.size(), 2U);
  clock_.advance(1_ms);
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(scope.size(), 1U);
  scope.cancel();
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(destroyed, 2);
}

TEST_F(Runtime, DestroyingAScopeCancelsItsTasksAndTheirTimers) {
  int woken = 0;
  int destroyed = 0;
  {
    Scope scope(executor_);
    scope.spawn(sleeper(clock_, 5_ms, woken, destroyed));
    scope.spawn(sleeper(clock_, 50_ms, woken, destroyed));
    executor_.run_ready();
    clock_.advance(10_ms);
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(scope.size(), 1U);
  }
  EXPECT_EQ(destroyed, 2);
  clock_.advance(100_ms);
  EXPECT_EQ(woken, 1);
}

Task<void> waiter(Event& event, int& woken) {
  co_await event.wait();
  ++woken;
}

TEST_F(Runtime, WaiterDestroyedAfterTheWakeIsNotResumed) {
  Event event(executor_);
  int woken = 0;
  Scope kept(executor_);
  kept.spawn(waiter(event, woken));
  {
    Scope dropped(executor_);
    dropped.spawn(waiter(event, woken));
    executor_.run_ready();
    event.set();
  }
  executor_.run_ready();
  EXPECT_EQ(woken, 1);
}

Task<Status> slow(Clock& clock, Nanos duration, int& destroyed) {
  const Tracer tracer(destroyed);
  co_await clock.sleep(duration);
  co_return Status();
}

Task<void> bounded(Clock& clock, Nanos work, Nanos patience, int& destroyed, std::vector<Code>& codes) {
  const Status status = co_await with_timeout(clock, patience, slow(clock, work, destroyed), "slow");
  codes.push_back(status.code());
}

TEST_F(Runtime, TimeoutCancelsTheTaskAndNamesItself) {
  Scope scope(executor_);
  std::vector<Code> codes;
  int destroyed = 0;
  scope.spawn(bounded(clock_, 20_ms, 10_ms, destroyed, codes));
  scope.spawn(bounded(clock_, 5_ms, 10_ms, destroyed, codes));
  executor_.run_ready();
  clock_.advance(5_ms);
  EXPECT_EQ(codes, (std::vector{Code::ok}));
  clock_.advance(5_ms);
  EXPECT_EQ(codes, (std::vector{Code::ok, Code::timed_out}));
  EXPECT_EQ(destroyed, 2);
  EXPECT_EQ(scope.size(), 0U);
}

Task<int> after(Clock& clock, Nanos duration, int value) {
  co_await clock.sleep(duration);
  co_return value;
}

Task<void> gather(Clock& clock, std::vector<int>& values) {
  std::vector<Task<int>> tasks;
  tasks.push_back(after(clock, 3_ms, 1));
  tasks.push_back(ready(2));
  tasks.push_back(after(clock, 1_ms, 3));
  values = co_await when_all(std::move(tasks));
}

TEST_F(Runtime, WhenAllReturnsResultsInTheOrderOfTheTasks) {
  Scope scope(executor_);
  std::vector<int> values;
  scope.spawn(gather(clock_, values));
  executor_.run_ready();
  clock_.advance(2_ms);
  EXPECT_TRUE(values.empty());
  clock_.advance(1_ms);
  EXPECT_EQ(values, (std::vector{1, 2, 3}));
}

Task<void> hold(Semaphore& semaphore, std::size_t count, Event& leave, std::vector<std::size_t>& order) {
  co_await semaphore.acquire(count);
  order.push_back(count);
  co_await leave.wait();
  semaphore.release(count);
}

TEST_F(Runtime, SemaphoreIsGrantedInOrderAndNotOvertaken) {
  Semaphore semaphore(executor_, 3);
  Event first(executor_);
  Event later(executor_);
  std::vector<std::size_t> order;
  Scope scope(executor_);
  scope.spawn(hold(semaphore, 2, first, order));
  scope.spawn(hold(semaphore, 3, later, order));
  scope.spawn(hold(semaphore, 1, later, order));
  executor_.run_ready();
  EXPECT_EQ(order, (std::vector<std::size_t>{2}));
  first.set();
  executor_.run_ready();
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 3}));
  later.set();
  executor_.run_ready();
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 3, 1}));
  EXPECT_EQ(semaphore.available(), 3U);
}

TEST_F(Runtime, PermitsOfACancelledWaiterComeBack) {
  Semaphore semaphore(executor_, 1);
  Event leave(executor_);
  std::vector<std::size_t> order;
  Scope kept(executor_);
  kept.spawn(hold(semaphore, 1, leave, order));
  executor_.run_ready();
  {
    Scope dropped(executor_);
    dropped.spawn(hold(semaphore, 1, leave, order));
    executor_.run_ready();
    leave.set();
    executor_.run_ready();
  }
  executor_.run_ready();
  EXPECT_EQ(semaphore.available(), 1U);
}

Task<void> drain(Mailbox<int>& mailbox, std::vector<int>& items, bool& closed) {
  while (auto item = co_await mailbox.pop()) items.push_back(*item);
  closed = true;
}

TEST_F(Runtime, MailboxDrainsAfterClose) {
  Mailbox<int> mailbox(executor_);
  std::vector<int> items;
  bool closed = false;
  Scope scope(executor_);
  scope.spawn(drain(mailbox, items, closed));
  executor_.run_ready();
  mailbox.push(1);
  mailbox.push(2);
  mailbox.close();
  executor_.run_ready();
  EXPECT_EQ(items, (std::vector{1, 2}));
  EXPECT_TRUE(closed);
}

}  // namespace
}  // namespace tutti
