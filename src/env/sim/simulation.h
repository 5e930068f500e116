// Simulation: the simulated world's executor, virtual time and chance.
//
// Virtual time starts at 0 and jumps to the next timer when nothing is ready, so a simulated hour takes as
// long as its events. The same seed gives the same run to the event: trace() tells two runs apart. One
// thread. It must outlive everything that runs in it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/random.h"
#include "base/units.h"
#include "env/executor.h"
#include "env/scope.h"
#include "env/task.h"

namespace tutti {

class Simulation {
 public:
  // The wall time at virtual time 0: 2011-01-01T00:00:00Z.
  static constexpr Nanos kWallEpoch = Nanos(1'293'840'000'000'000'000);

  explicit Simulation(std::uint64_t seed = 1) : seed_(seed), random_(seed), scope_(executor_) {}

  [[nodiscard]] Executor& executor() { return executor_; }
  [[nodiscard]] Nanos now() const { return now_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Components take random().fork() once, so that one's use of chance does not change another's.
  [[nodiscard]] Random& random() { return random_; }

  // Hands a task to the world; it starts with the next run and is destroyed with the simulation at the
  // latest.
  void spawn(Task<void> task) { scope_.spawn(std::move(task)); }
  // Destroys the tasks spawned here that have not ended.
  void cancel_all() { scope_.cancel(); }

  // Runs until neither a ready task nor a timer is left.
  void run() {
    while (step()) {
    }
  }
  // Runs all that is due up to `deadline`, which is then the time.
  void run_until(Nanos deadline);
  // Runs until done() holds, asked after each instant. False if the simulation runs dry before.
  template <std::predicate Predicate>
  bool run_until(Predicate done) {
    executor_.run_ready();
    while (!done()) {
      if (!step()) return done();
    }
    return true;
  }
  // Drives the task to its end and returns its value; other tasks run meanwhile, and stay where they are when
  // it ends. Nothing if the simulation runs dry before: the task waits for what can never happen (a
  // deadlock), and is destroyed.
  template <typename T>
  requires(!std::is_void_v<T>) std::optional<T> run(Task<T> task) {
    std::optional<T> result;
    Scope scope(executor_);
    scope.spawn(store(std::move(task), result));
    run_until([&] { return result.has_value(); });
    return result;
  }
  // The same for a task without a value; false for a deadlock.
  bool run(Task<void> task) {
    Scope scope(executor_);
    scope.spawn(std::move(task));
    return run_until([&] { return scope.size() == 0; });
  }

  // Executor events so far.
  [[nodiscard]] std::uint64_t events() const { return executor_.events(); }
  // A hash over the time and the number of events of every instant so far.
  [[nodiscard]] std::uint64_t trace() const { return trace_; }

 private:
  template <typename T>
  static Task<void> store(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
  }
  // Runs what is ready, then one instant. False when nothing is left.
  bool step();

  std::uint64_t seed_;
  Random random_;
  Executor executor_;
  Nanos now_;
  std::uint64_t trace_ = 0;
  Scope scope_;
};

}  // namespace tutti
