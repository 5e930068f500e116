// Clock: the port through which all code learns the time and sleeps. Nothing else reads a clock.
#pragma once

#include <coroutine>

#include "base/units.h"
#include "env/executor.h"

namespace tutti {

class Clock {
 public:
  explicit Clock(Executor& executor) : executor_(executor) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  // Never goes back. Timers of the executor are in this time. It may stand still while nobody looks: patience counts
  // in it.
  [[nodiscard]] virtual Nanos now() const = 0;
  // The same, but it never stands still: for what was agreed with others.
  [[nodiscard]] virtual Nanos steady() const { return now(); }
  // Since 1970, as this node believes; may be skewed and may jump.
  [[nodiscard]] virtual Nanos wall() const = 0;

  [[nodiscard]] Executor& executor() const { return executor_; }

  auto sleep_until(Nanos deadline) {
    struct Awaiter : Timer {
      Awaiter(Clock& clock, Nanos deadline) : Timer(&fire), clock(clock), deadline(deadline) {}
      Clock& clock;
      Nanos deadline;
      std::coroutine_handle<> handle;
      bool await_ready() const { return deadline <= clock.now(); }
      void await_suspend(std::coroutine_handle<> awaiting) {
        handle = awaiting;
        clock.executor().arm(*this, deadline);
      }
      void await_resume() const {}
      static void fire(Timer* self) { static_cast<Awaiter*>(self)->handle.resume(); }
    };
    return Awaiter(*this, deadline);
  }
  auto sleep(Nanos duration) { return sleep_until(now() + duration); }

 private:
  Executor& executor_;
};

}  // namespace tutti
