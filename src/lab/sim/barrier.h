// Barrier: the ranks of a simulated program wait for each other. One thread; must outlive its waiters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "env/sync.h"

namespace tutti {

class Barrier {
 public:
  Barrier(Executor& executor, std::size_t ranks)
      : executor_(executor), ranks_(ranks), gate_(std::make_shared<Event>(executor)) {}

  // Ends when all ranks have called it, then counts anew.
  Task<void> arrive() {
    const std::shared_ptr<Event> gate = gate_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      gate_ = std::make_shared<Event>(executor_);
      gate->set();
    }
    co_await gate->wait();
  }

 private:
  Executor& executor_;
  std::size_t ranks_;
  std::size_t arrived_ = 0;
  std::shared_ptr<Event> gate_;
};

}  // namespace tutti
