// Executor: the run queue and the timers of one thread. Both worlds run on it.
//
// The real world's loop runs what is ready, then sleeps in the kernel until a descriptor or the next timer is
// due. The simulated world runs what is ready, then moves its clock to the next timer. Everything else is the
// same code. An Executor and all that hangs on it belong to one thread.
//
// Cancellation: to cancel a coroutine is to destroy its frame. Ready and Timer unlink themselves when they are
// destroyed, so a destroyed frame is never resumed; an awaiter must therefore own its Ready or Timer.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace tutti {

// Something that can stand in the run queue, at most once at a time. Not movable: the queue points to it.
class Ready {
 public:
  using Run = void (*)(Ready*);
  explicit Ready(Run run) : run_(run) {}
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
  ~Ready() { unlink(); }

  [[nodiscard]] bool linked() const { return next_ != nullptr; }
  void unlink();

 private:
  friend class Executor;
  Run run_;
  Ready* previous_ = nullptr;
  Ready* next_ = nullptr;
};

// A Ready that resumes a coroutine.
class Resume : public Ready {
 public:
  Resume() : Ready(&run) {}
  std::coroutine_handle<> handle;

 private:
  static void run(Ready* self) { static_cast<Resume*>(self)->handle.resume(); }
};

class Executor;

// Fires once at its deadline; may be armed again. Disarms itself when destroyed.
class Timer {
 public:
  using Fire = void (*)(Timer*);
  explicit Timer(Fire fire) : fire_(fire) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { disarm(); }

  [[nodiscard]] bool armed() const { return executor_ != nullptr; }
  void disarm();

 private:
  friend class Executor;
  Fire fire_;
  Executor* executor_ = nullptr;
  std::size_t index_ = 0;
};

class Executor {
 public:
  Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Appends to the run queue; nothing happens if it stands there already.
  void post(Ready& ready);
  // Timers with the same deadline fire in the order in which they were armed. Re-arms if armed.
  void arm(Timer& timer, Nanos deadline);

  [[nodiscard]] bool has_ready() const { return head_.next_ != &head_; }
  // Runs what is ready now, including what becomes ready meanwhile. Returns how many ran.
  std::size_t run_ready();
  // Nanos::max() if there is none.
  [[nodiscard]] Nanos next_deadline() const { return heap_.empty() ? Nanos::max() : heap_.front().deadline; }
  // Fires every timer that is due at `now`.
  std::size_t fire_due(Nanos now);
  // Fires the first timer; there must be one. For a clock that jumps.
  void fire_first();
  // Run-queue entries and timers run so far.
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  friend class Timer;
  struct Entry {
    Nanos deadline;
    std::uint64_t order;
    Timer* timer;
    bool operator<(const Entry& other) const {
      return deadline != other.deadline ? deadline < other.deadline : order < other.order;
    }
  };
  void place(std::size_t index, const Entry& entry);
  void sift_up(std::size_t index, const Entry& entry);
  void sift_down(std::size_t index, const Entry& entry);
  void remove(std::size_t index);

  Ready head_;               // sentinel of the circular run queue
  std::vector<Entry> heap_;  // 4-ary min-heap
  std::uint64_t next_order_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace tutti
