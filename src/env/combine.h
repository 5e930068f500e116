// when_all and with_timeout: tasks in parallel, and tasks with a bound.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "env/clock.h"
#include "env/executor.h"
#include "env/frame_pool.h"
#include "env/task.h"

namespace tutti {

namespace detail {

// Runs one task as part of a group; the last to end resumes the parent.
struct Group {
  std::size_t left = 0;
  std::coroutine_handle<> parent;
};

class Member {
 public:
  struct promise_type : FramePool {
    explicit promise_type(Group& group) : group(group) {}
    template <typename... Args>
    explicit promise_type(Group& group, Args&...) : group(group) {}
    Member get_return_object() { return Member(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Final {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
          Group& group = self.promise().group;
          if (--group.left == 0 && group.parent) return group.parent;
          return std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return Final{};
    }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
    Group& group;
  };

  explicit Member(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Member(Member&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  Member& operator=(Member&&) = delete;
  ~Member() {
    if (handle_) handle_.destroy();
  }
  void start() { handle_.resume(); }
  [[nodiscard]] bool done() const { return handle_.done(); }
  void destroy() { std::exchange(handle_, nullptr).destroy(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <typename T>
Member member(Group& /*group*/, Task<T>& task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

}  // namespace detail

// Runs all tasks at once; the results come in the order of the tasks. Destroying it cancels all of them.
template <typename T>
Task<std::vector<T>> when_all(std::vector<Task<T>> tasks) {
  std::vector<std::optional<T>> results(tasks.size());
  detail::Group group{tasks.size(), nullptr};
  std::vector<detail::Member> members;
  members.reserve(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    members.push_back(detail::member(group, tasks[i], results[i]));

  struct StartAll {
    detail::Group& group;
    std::vector<detail::Member>& members;
    bool await_ready() const { return members.empty(); }
    bool await_suspend(std::coroutine_handle<> parent) {
      for (auto& each : members) each.start();
      if (group.left == 0) return false;
      group.parent = parent;
      return true;
    }
    void await_resume() const {}
  };
  co_await StartAll{group, members};

  std::vector<T> values;
  values.reserve(results.size());
  for (auto& result : results) values.push_back(std::move(*result));
  co_return values;
}

namespace detail {

struct Never {
  bool operator()() const { return false; }
};

}  // namespace detail

// The task's result, or Code::timed_out after `patience`; the task is then cancelled. T is Status or Result<U>.
// `again` is asked when the patience is over: if it says so, it begins anew.
template <typename T, typename Again = detail::Never>
Task<T> with_timeout(Clock& clock, Nanos patience, Task<T> task, const char* what, Again again = {}) {
  std::optional<T> result;
  detail::Group group{1, nullptr};
  detail::Member running = detail::member(group, task, result);

  struct Race : Timer {
    Race(Clock& clock, Nanos patience, detail::Group& group, detail::Member& running, Again& again)
        : Timer(&expire), clock(clock), patience(patience), group(group), running(running), again(again) {}
    Clock& clock;
    Nanos patience;
    detail::Group& group;
    detail::Member& running;
    Again& again;
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> parent) {
      running.start();
      if (group.left == 0) return false;
      group.parent = parent;
      clock.executor().arm(*this, clock.now() + patience);
      return true;
    }
    void await_resume() { disarm(); }
    static void expire(Timer* self) {
      auto& race = *static_cast<Race*>(self);
      if (race.again()) return race.clock.executor().arm(race, race.clock.now() + race.patience);
      race.running.destroy();
      race.group.parent.resume();
    }
  };
  co_await Race(clock, patience, group, running, again);
  if (!result)
    co_return T(Status(Code::timed_out, std::string(what) + ": no answer within " + to_string(patience)));
  co_return std::move(*result);
}

}  // namespace tutti
