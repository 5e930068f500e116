// Event, Semaphore, Mailbox: how coroutines of one Executor wait for each other, and sleep.
//
// Whoever is woken runs from the run queue, in order of waiting, never inside the call that wakes. A waiter
// whose frame is destroyed leaves its list. All of them must outlive their waiters.
#pragma once

#include <cassert>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "env/executor.h"
#include "env/task.h"

namespace tutti {

namespace detail {

// A waiter stands in the list of what it waits for, then in the run queue.
class WaitList;
class WaitNode {
 public:
  WaitNode() = default;
  WaitNode(const WaitNode&) = delete;
  WaitNode& operator=(const WaitNode&) = delete;
  ~WaitNode() { unlink(); }
  void unlink();
  [[nodiscard]] bool waiting() const { return list_ != nullptr; }
  Resume resume;

 private:
  friend class WaitList;
  WaitList* list_ = nullptr;
  WaitNode* previous_ = nullptr;
  WaitNode* next_ = nullptr;
};

class WaitList {
 public:
  WaitList() = default;
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList() { assert(first_ == nullptr); }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] WaitNode* first() const { return first_; }
  void append(WaitNode& node);
  void remove(WaitNode& node);

 private:
  WaitNode* first_ = nullptr;
  WaitNode* last_ = nullptr;
};

inline void WaitNode::unlink() {
  if (list_ != nullptr) list_->remove(*this);
}

}  // namespace detail

// Stays set until reset.
class Event {
 public:
  explicit Event(Executor& executor) : executor_(executor) {}

  [[nodiscard]] bool is_set() const { return set_; }
  void set() {
    set_ = true;
    while (!waiters_.empty()) {
      detail::WaitNode& node = *waiters_.first();
      waiters_.remove(node);
      executor_.post(node.resume);
    }
  }
  void reset() { set_ = false; }

  auto wait() {
    struct Awaiter : detail::WaitNode {
      explicit Awaiter(Event& event) : event(event) {}
      Event& event;
      bool await_ready() const { return event.set_; }
      void await_suspend(std::coroutine_handle<> handle) {
        resume.handle = handle;
        event.waiters_.append(*this);
      }
      void await_resume() const {}
    };
    return Awaiter(*this);
  }

 private:
  Executor& executor_;
  bool set_ = false;
  detail::WaitList waiters_;
};

// Counts permits. Waiters are served strictly in order, so a large demand is not overtaken for ever.
class Semaphore {
 public:
  Semaphore(Executor& executor, std::size_t permits) : executor_(executor), permits_(permits) {}

  [[nodiscard]] std::size_t available() const { return permits_; }
  void release(std::size_t count = 1) {
    permits_ += count;
    grant();
  }
  bool try_acquire(std::size_t count = 1) {
    if (!waiters_.empty() || permits_ < count) return false;
    permits_ -= count;
    return true;
  }
  // A frame destroyed between the grant and its resumption gives its permits back.
  auto acquire(std::size_t count = 1) { return Awaiter(*this, count); }

 private:
  struct Awaiter : detail::WaitNode {
    Awaiter(Semaphore& semaphore, std::size_t count) : semaphore(semaphore), count(count) {}
    ~Awaiter() {
      const bool was_waiting = waiting();
      unlink();
      if (granted && !taken) semaphore.release(count);
      if (was_waiting) semaphore.grant();  // the next in line may want less
    }
    Semaphore& semaphore;
    std::size_t count;
    bool granted = false;
    bool taken = false;
    bool await_ready() { return granted = semaphore.try_acquire(count); }
    void await_suspend(std::coroutine_handle<> handle) {
      resume.handle = handle;
      semaphore.waiters_.append(*this);
    }
    void await_resume() { taken = true; }
  };
  void grant() {
    while (!waiters_.empty()) {
      auto& next = static_cast<Awaiter&>(*waiters_.first());
      if (permits_ < next.count) return;
      permits_ -= next.count;
      next.granted = true;
      waiters_.remove(next);
      executor_.post(next.resume);
    }
  }

  Executor& executor_;
  std::size_t permits_;
  detail::WaitList waiters_;
};

// An unbounded queue with one receiver. After close(), pop() drains what is left, then returns nothing.
template <typename T>
class Mailbox {
 public:
  explicit Mailbox(Executor& executor) : arrived_(executor) {}

  void push(T item) {
    items_.push_back(std::move(item));
    arrived_.set();
  }
  void close() {
    closed_ = true;
    arrived_.set();
  }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  Task<std::optional<T>> pop() {
    while (items_.empty()) {
      if (closed_) co_return std::nullopt;
      arrived_.reset();
      co_await arrived_.wait();
    }
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    co_return item;
  }

 private:
  std::deque<T> items_;
  bool closed_ = false;
  Event arrived_;
};

}  // namespace tutti
