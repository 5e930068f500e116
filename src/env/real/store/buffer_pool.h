// BufferPool: a bounded number of equal, page-aligned buffers; who finds none waits.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "env/executor.h"
#include "env/sync.h"
#include "env/task.h"

namespace tutti {

// Must outlive its buffers.
class BufferPool {
 public:
  BufferPool(Executor& executor, std::size_t count, std::size_t size);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  [[nodiscard]] std::size_t size() const { return size_; }
  // Goes back to the pool with its last owner. The one given back last is given out first: it is warm.
  Task<Result<std::shared_ptr<std::byte>>> acquire();

 private:
  bool grow();

  std::size_t size_;
  std::vector<void*> arenas_;
  std::vector<std::byte*> free_;
  Semaphore permits_;
};

}  // namespace tutti
