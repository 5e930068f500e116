// Loop: the event loop of the real world: an Executor, the real clock and epoll, in one thread.
//
// A quiet loop sleeps in the kernel until a descriptor or the next timer is due; it has no period of its own.
// All that hangs on a Loop (watches, connections, stores) belongs to the thread that runs it and must be
// destroyed before it.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "env/clock.h"
#include "env/combine.h"
#include "env/executor.h"
#include "env/task.h"

namespace tutti {

class RealClock final : public Clock {
 public:
  using Clock::Clock;
  [[nodiscard]] Nanos now() const override;
  [[nodiscard]] Nanos steady() const override;
  [[nodiscard]] Nanos wall() const override;

  // For a loop that is driven only now and then, when somebody calls in: so long after the end of a turn the clock
  // stands still until the next. What a peer said meanwhile lies unread, so the time is not a silence of the peer's.
  // The same holds for the time in which the process is stopped (SIGSTOP), but for a second at most.
  void stand_still_after(Nanos gap) {
    gap_ = gap;
    attended_ = steady();
  }

 private:
  friend class Loop;
  [[nodiscard]] bool may_stand_still() const { return gap_ != Nanos::max(); }
  void turn_begins();
  // `due`: when it would have ended if nothing had happened, in steady time; max() if that was open.
  void turn_ends(Nanos due);

  Nanos gap_ = Nanos::max();
  Nanos attended_;  // in steady time: when the last turn ended
  Nanos away_;      // how long it has stood still so far
};

class FdWatch;

// For set_spin() of clients and daemons: a few times what it costs to wake a sleeping core, so that a core stays awake
// from one message of a busy peer to its next, also if others are served in between.
inline constexpr Nanos kSpin = 300_us;

class Loop {
 public:
  Loop() : clock_(executor_) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  [[nodiscard]] Executor& executor() { return executor_; }
  [[nodiscard]] RealClock& clock() { return clock_; }

  // Runs until stop(). A stop() that came before is not lost.
  void run();
  // Ends run() after the current turn. Of the loop's own thread.
  void stop() { stopped_ = true; }
  // Drives the loop until the task has ended: the blocking facade of the client library. Not from inside the
  // loop.
  template <typename T>
  T run(Task<T> task) {
    std::optional<T> result;
    detail::Group group{1, nullptr};
    detail::Member running = detail::member(group, task, result);
    running.start();
    for (;;) {
      executor_.run_ready();
      if (group.left == 0) break;
      wait(Nanos::max());
    }
    return std::move(*result);
  }
  void run(Task<void> task) { run(ended(std::move(task))); }
  // One turn: runs what is ready, waits for events for at most `timeout`, runs what they made ready.
  void run_once(Nanos timeout);

  // Before it sleeps, the loop may look for events for up to `limit`, giving way to others meanwhile: waking a sleeping
  // core takes longer than most answers. It stops doing so for a while when looking was in vain, or when a process that
  // computes has the core, so a quiet process uses no CPU. Off (0) unless asked for.
  void set_spin(Nanos limit) { spin_limit_ = limit; }

  // When the loop last looked at its descriptors.
  [[nodiscard]] Nanos looked() const { return looked_; }

  // Resumes after the loop has looked at its descriptors: for work that would otherwise keep others waiting.
  auto next_turn() {
    struct Awaiter : Timer {
      explicit Awaiter(Loop& loop) : Timer(&fire), loop(loop) {}
      Loop& loop;
      std::coroutine_handle<> handle;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> awaiting) {
        handle = awaiting;
        loop.executor_.arm(*this, loop.clock_.now() + Nanos(1));
      }
      void await_resume() const {}
      static void fire(Timer* self) { static_cast<Awaiter*>(self)->handle.resume(); }
    };
    return Awaiter(*this);
  }

 private:
  friend class FdWatch;
  static Task<bool> ended(Task<void> task) {
    co_await std::move(task);
    co_return true;
  }
  Status control(int operation, int fd, std::uint32_t events, FdWatch* watch);
  // Waits for events and timers and posts or fires what they are for.
  void wait(Nanos timeout);
  void wait_for_events(Nanos timeout);
  bool spin();
  int take_events(const timespec* patience);

  Executor executor_;
  RealClock clock_;
  int epoll_ = -1;  // made with the first watch
  bool stopped_ = false;
  Nanos looked_;
  Nanos spin_limit_;
  std::uint32_t spin_pause_ = 0;  // waits to go until the next spin
  std::uint32_t spin_misses_ = 0;
};

// Tells when a descriptor can be read or written. Edge-triggered and registered once, so that an operation
// costs no epoll_ctl: try first, wait only when the kernel said EAGAIN or gave less than asked for
// (drained()). At most one coroutine waits for each direction. Does not own the descriptor.
class FdWatch {
 public:
  FdWatch() = default;
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;
  ~FdWatch() { remove(); }

  // The descriptor must be non-blocking and stay open until remove().
  Status add(Loop& loop, int fd);
  // Idempotent. Wakes whoever waits; they find out why from their own state.
  void remove();
  [[nodiscard]] bool added() const { return loop_ != nullptr; }

  // Whether reading may give something: an event has come since drained(), or the peer has hung up.
  [[nodiscard]] bool maybe_readable() const { return readable_ || hung_up_; }
  void drained() { readable_ = false; }

 private:
  enum class Direction { in, out };
  struct Awaiter {
    Awaiter(FdWatch& watch, Direction direction) : watch(watch), direction(direction) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() {
      if (slot() != this) return;
      slot() = nullptr;
      if (direction == Direction::out) watch.want_writable(false);
    }
    Awaiter*& slot() const { return direction == Direction::in ? watch.reader_ : watch.writer_; }
    bool await_ready() const {
      return watch.loop_ == nullptr || (direction == Direction::in && watch.maybe_readable());
    }
    void await_suspend(std::coroutine_handle<> awaiting) {
      resume.handle = awaiting;
      slot() = this;
      if (direction == Direction::out) watch.want_writable(true);
    }
    void await_resume() const {
      if (direction == Direction::out) watch.want_writable(false);
    }
    FdWatch& watch;
    Direction direction;
    Resume resume;
  };

 public:
  // Ends at once if maybe_readable(), or after remove().
  [[nodiscard]] Awaiter readable() { return {*this, Direction::in}; }
  // Ends when the descriptor can be written, when the peer has hung up, or after remove().
  [[nodiscard]] Awaiter writable() { return {*this, Direction::out}; }

 private:
  friend class Loop;
  void on_events(std::uint32_t events);
  void want_writable(bool wanted);
  void wake(Awaiter*& slot);

  Loop* loop_ = nullptr;
  int fd_ = -1;
  bool readable_ = false;
  bool hung_up_ = false;
  bool wants_writable_ = false;
  Awaiter* reader_ = nullptr;
  Awaiter* writer_ = nullptr;
};

// Turns signals into values, for daemons. Blocks them in the calling thread; threads started later inherit
// that.
class Signals {
 public:
  static Result<std::unique_ptr<Signals>> watch(Loop& loop, const std::vector<int>& numbers);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();
  // The number of the next signal that arrives.
  Task<int> next();

 private:
  explicit Signals(int fd) : fd_(fd) {}
  int fd_;
  FdWatch watch_;
};

}  // namespace tutti
