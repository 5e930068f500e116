#include "env/real/store/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>

namespace tutti {
namespace {

constexpr std::size_t kArena = 2U << 20U;  // a huge page where the kernel has one

std::size_t arena_size(std::size_t buffer_size) { return std::max(kArena, buffer_size); }

}  // namespace

BufferPool::BufferPool(Executor& executor, std::size_t count, std::size_t size)
    : size_(size), permits_(executor, std::max<std::size_t>(count, 1)) {}

BufferPool::~BufferPool() {
  for (void* arena : arenas_) ::munmap(arena, arena_size(size_));
}

bool BufferPool::grow() {
  const std::size_t length = arena_size(size_);
  void* arena = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) return false;
  ::madvise(arena, length, MADV_HUGEPAGE);
  arenas_.push_back(arena);
  for (std::size_t at = 0; at + size_ <= length; at += size_)
    free_.push_back(static_cast<std::byte*>(arena) + at);
  return true;
}

Task<Result<std::shared_ptr<std::byte>>> BufferPool::acquire() {
  co_await permits_.acquire();
  if (free_.empty() && !grow()) {
    permits_.release();
    co_return Status(Code::busy, "no memory for another buffer of " + std::to_string(size_) + " bytes");
  }
  std::byte* buffer = free_.back();
  free_.pop_back();
  co_return std::shared_ptr<std::byte>(buffer, [this](std::byte* returned) {
    free_.push_back(returned);
    permits_.release();
  });
}

}  // namespace tutti
