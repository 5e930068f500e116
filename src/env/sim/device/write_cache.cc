#include "env/sim/device/write_cache.h"

#include <algorithm>

namespace tutti {

void WriteCache::put(std::uint64_t address, std::uint64_t length) {
  if (length == 0) return;
  std::uint64_t end = address + length;
  auto each = stretches_.upper_bound(address);
  if (each != stretches_.begin() && std::prev(each)->second >= address) --each;
  while (each != stretches_.end() && each->first <= end) {
    address = std::min(address, each->first);
    end = std::max(end, each->second);
    held_ -= each->second - each->first;
    each = stretches_.erase(each);
  }
  stretches_.emplace(address, end);
  held_ += end - address;
}

WriteCache::Stretch WriteCache::take(Stretches::iterator stretch) {
  const auto [address, end] = *stretch;
  const Stretch taken{address, std::min(end - address, kStep)};
  stretches_.erase(stretch);
  if (address + taken.length < end) stretches_.emplace(address + taken.length, end);
  held_ -= taken.length;
  return taken;
}

}  // namespace tutti
