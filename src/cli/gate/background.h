// Work that blocks, beside the loop.
#pragma once

#include <sys/eventfd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "env/real/local_files.h"
#include "env/real/loop/loop.h"

namespace tutti::cli {

// Runs `work` in a thread of its own and ends when it has. `work` must refer to nothing that may go before it: if the task is
// destroyed, it goes on, and nobody hears of it.
template <typename T>
Task<T> in_background(Loop& loop, std::function<T()> work) {
  struct Shared {
    std::mutex mutex;
    std::optional<T> result;
    Fd event{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  };
  const auto shared = std::make_shared<Shared>();
  FdWatch watch;
  if (!shared->event.valid() || !watch.add(loop, shared->event.get()).ok()) co_return work();
  std::thread([shared, work = std::move(work)] {
    T result = work();
    const std::lock_guard lock(shared->mutex);
    shared->result.emplace(std::move(result));
    ::eventfd_write(shared->event.get(), 1);
  }).detach();
  for (;;) {
    {
      const std::lock_guard lock(shared->mutex);
      if (shared->result) co_return std::move(*shared->result);
    }
    watch.drained();
    co_await watch.readable();
  }
}

}  // namespace tutti::cli
