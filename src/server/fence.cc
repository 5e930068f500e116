#include "server/fence.h"

#include <cstring>
#include <string>

#include "server/capability.h"

namespace tutti {

std::uint64_t fence_digest(std::uint64_t file, std::span<const wire::LostLock> lost, std::uint64_t epoch) {
  std::string bytes = "fence";
  const auto append = [&bytes](std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  append(file);
  append(epoch);
  for (const wire::LostLock& lock : lost) {
    append(lock.client());
    append(lock.number());
  }
  return message_digest(bytes);
}

}  // namespace tutti
