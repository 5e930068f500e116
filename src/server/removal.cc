#include "server/removal.h"

#include <string>

#include "server/capability.h"

namespace tutti {

std::uint64_t removal_digest(std::span<const std::uint64_t> files, std::int64_t until) {
  std::string covered("removal");
  covered.append(reinterpret_cast<const char*>(&until), sizeof(until));
  covered.append(reinterpret_cast<const char*>(files.data()), files.size_bytes());
  return message_digest(covered);
}

}  // namespace tutti
