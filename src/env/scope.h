// Scope: the owner of tasks that run on their own.
//
// spawn() hands a task over; it starts from the run queue. Destroying the scope, or cancel(), destroys the
// frames of the tasks that have not ended: nothing outlives its scope. A task must not destroy the scope it runs in.
#pragma once

#include <coroutine>
#include <cstddef>

#include "env/executor.h"
#include "env/sync.h"
#include "env/task.h"

namespace tutti {

class Scope {
 public:
  explicit Scope(Executor& executor) : executor_(executor), idle_(executor) { idle_.set(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { cancel(); }

  void spawn(Task<void> task);
  // Starts it here and now instead: for a task that mostly ends without waiting.
  void start(Task<void> task);
  void cancel();
  [[nodiscard]] std::size_t size() const { return size_; }
  // Ends when no task is left.
  Task<void> join();
  [[nodiscard]] Executor& executor() const { return executor_; }

 private:
  struct Root;
  // The part of a spawned frame that the scope knows: a doubly linked list.
  struct Node {
    Node* previous = nullptr;
    Node* next = nullptr;
    std::coroutine_handle<> handle;
  };
  static Root run(Scope& scope, Task<void> task);

  Executor& executor_;
  Node* first_ = nullptr;
  std::size_t size_ = 0;
  Event idle_;
};

}  // namespace tutti
