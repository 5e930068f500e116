#include "parallel/typed_memory.h"

#include <cstring>

namespace tutti {
namespace {

// Walks the runs of `bytes` bytes from `data` on.
template <typename Visit>
void each_run(const TypedMemory& memory, std::int64_t data, std::size_t bytes, Visit visit) {
  if (bytes == 0) return;
  if (memory.contiguous()) return visit(memory.all().data() + data, bytes);
  TypeCursor cursor = memory.cursor();
  cursor.seek(data);
  for (std::size_t left = bytes; left > 0;) {
    const TypeRun run = cursor.next(static_cast<std::int64_t>(left));
    visit(memory.at(run.offset), static_cast<std::size_t>(run.length));
    left -= static_cast<std::size_t>(run.length);
  }
}

}  // namespace

void TypedMemory::gather(std::int64_t data, std::span<std::byte> into) const {
  std::byte* to = into.data();
  each_run(*this, data, into.size(), [&](const std::byte* from, std::size_t length) {
    std::memcpy(to, from, length);
    to += length;
  });
}

void TypedMemory::scatter(std::span<const std::byte> from, std::int64_t data) const {
  const std::byte* at = from.data();
  each_run(*this, data, from.size(), [&](std::byte* to, std::size_t length) {
    std::memcpy(to, at, length);
    at += length;
  });
}

}  // namespace tutti
