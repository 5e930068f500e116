// Rounds: work that several ask for, one run after the other, each run for all who asked before it began.
//
// join() is answered by a run that begins after the call. A run goes on when those who wait for it are gone: what it
// finds out (a failed sync is told only once by the kernel) must not be lost with them.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/status.h"
#include "env/scope.h"
#include "env/sync.h"
#include "env/task.h"

namespace tutti {

class Rounds {
 public:
  using Work = std::function<Task<Status>()>;

  // `scope` runs the work and must outlive this; `work` is that of the round that begins next, unless somebody else
  // has brought one already.
  static Task<Status> join(std::shared_ptr<Rounds> rounds, Scope& scope, Work work) {
    if (rounds->next_ == nullptr) rounds->next_ = std::make_shared<Round>(scope.executor(), std::move(work));
    const std::shared_ptr<Round> mine = rounds->next_;
    if (!std::exchange(rounds->running_, true)) scope.spawn(run(rounds));
    co_await mine->ended.wait();
    co_return mine->status;
  }

 private:
  struct Round {
    Round(Executor& executor, Work what) : work(std::move(what)), ended(executor) {}
    Work work;
    Status status;
    Event ended;
  };
  static Task<void> run(std::shared_ptr<Rounds> rounds) {
    while (const std::shared_ptr<Round> round = std::exchange(rounds->next_, nullptr)) {
      round->status = co_await round->work();
      round->ended.set();
    }
    rounds->running_ = false;
  }

  std::shared_ptr<Round> next_;
  bool running_ = false;
};

}  // namespace tutti
