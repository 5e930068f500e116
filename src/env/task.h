// Task<T>: a coroutine that starts when it is awaited and resumes its awaiter when it ends.
//
// A Task owns its frame: destroying a Task that has not ended cancels it, with everything it awaits (see
// executor.h). A child that ends without suspending does not suspend its parent either, so a long loop over
// ready results uses no stack. An exception that leaves a task ends the process: errors are Status values.
//
// GCC 12 frees a braced aggregate inside a co_await expression twice: give it a name first. Do not write a
// coroutine as a lambda that captures: the captures die with the lambda, not with the frame.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "env/frame_pool.h"

namespace tutti {

template <typename T = void>
class [[nodiscard]] Task;

namespace detail {

class TaskPromiseBase : public FramePool {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept {
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        return continuation ? continuation : std::noop_coroutine();
      }
      void await_resume() noexcept {}
      std::coroutine_handle<> continuation;
    };
    return Final{continuation_};
  }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  void set_continuation(std::coroutine_handle<> continuation) { continuation_ = continuation; }

 private:
  std::coroutine_handle<> continuation_;
};

template <typename T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& value) {
    result_.emplace(std::forward<U>(value));
  }
  T take() { return std::move(*result_); }

 private:
  std::optional<T> result_;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace detail

template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle handle;
      bool await_ready() noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> parent) {
        handle.resume();
        if (handle.done()) return false;
        handle.promise().set_continuation(parent);
        return true;
      }
      T await_resume() { return handle.promise().take(); }
    };
    return Awaiter{handle_};
  }

 private:
  Handle handle_;
};

namespace detail {
template <typename T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(Task<T>::Handle::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(Task<void>::Handle::from_promise(*this));
}
}  // namespace detail

}  // namespace tutti
