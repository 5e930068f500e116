#include "env/scope.h"

namespace tutti {

namespace detail {

void WaitList::append(WaitNode& node) {
  node.list_ = this;
  node.previous_ = last_;
  node.next_ = nullptr;
  (last_ != nullptr ? last_->next_ : first_) = &node;
  last_ = &node;
}

void WaitList::remove(WaitNode& node) {
  (node.previous_ != nullptr ? node.previous_->next_ : first_) = node.next_;
  (node.next_ != nullptr ? node.next_->previous_ : last_) = node.previous_;
  node.list_ = nullptr;
  node.previous_ = node.next_ = nullptr;
}

}  // namespace detail

// The frame of a spawned task: linked into its scope while it lives, destroyed by itself when it ends.
struct Scope::Root {
  struct promise_type : Node, detail::FramePool {
    promise_type(Scope& scope, Task<void>& /*task*/) : scope(scope) {
      handle = std::coroutine_handle<promise_type>::from_promise(*this);
      next = scope.first_;
      if (next != nullptr) next->previous = this;
      scope.first_ = this;
      if (scope.size_++ == 0) scope.idle_.reset();
    }
    promise_type(const promise_type&) = delete;
    promise_type& operator=(const promise_type&) = delete;
    ~promise_type() {
      (previous != nullptr ? previous->next : scope.first_) = next;
      if (next != nullptr) next->previous = previous;
      if (--scope.size_ == 0) scope.idle_.set();
    }

    Root get_return_object() { return Root{*this}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

    Scope& scope;
    Resume start;
  };
  promise_type& promise;
};

Scope::Root Scope::run(Scope& /*scope*/, Task<void> task) { co_await std::move(task); }

void Scope::spawn(Task<void> task) {
  const Root root = run(*this, std::move(task));
  root.promise.start.handle = root.promise.handle;
  executor_.post(root.promise.start);
}

void Scope::start(Task<void> task) {
  const Root root = run(*this, std::move(task));
  root.promise.handle.resume();
}

void Scope::cancel() {
  while (first_ != nullptr) first_->handle.destroy();
}

Task<void> Scope::join() {
  while (size_ > 0) co_await idle_.wait();
}

}  // namespace tutti
