// Memory: what a rank hands to a transfer: bytes where its datatype says, and others around them that must stay.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "program.h"

namespace exerciser {

class Memory {
 public:
  Memory(const Part& part, bool write) : part_(part), map_(map_of(part.type)), write_(write) {
    Offset low = 0;
    Offset high = 0;
    const Offset bytes = map_.size() * part.count;
    for (Offset i = 0; i < bytes; ++i) {
      low = std::min(low, map_.at(i));
      high = std::max(high, map_.at(i) + 1);
    }
    base_ = -low;
    bytes_.assign(static_cast<std::size_t>(high - low + kMargin), kGuard);
    for (Offset i = 0; write && i < bytes; ++i) at(i) = part.data[static_cast<std::size_t>(i)];
    before_ = bytes_;
  }
  void* address() { return bytes_.data() + base_; }

  // What is wrong after the transfer; empty if nothing is. `moved` is what the status tells of.
  std::string judge(Offset moved) {
    if (moved != part_.bytes)
      return std::to_string(moved) + " bytes were moved, not " + std::to_string(part_.bytes);
    std::vector<Byte> rest = bytes_;
    const Offset bytes = map_.size() * part_.count;
    for (Offset i = 0; !write_ && i < bytes; ++i) rest[index(i)] = kGuard;
    if (rest != before_) return "memory beside the data has changed";
    if (write_ || part_.seen.empty()) return {};
    std::string why;
    for (const std::vector<int>& seen : part_.seen) {
      why = compare(seen);
      if (why.empty()) return {};
    }
    return why;
  }

 private:
  static constexpr Byte kGuard = 0xe7;
  static constexpr Offset kMargin = 16;
  [[nodiscard]] std::size_t index(Offset i) const { return static_cast<std::size_t>(base_ + map_.at(i)); }
  Byte& at(Offset i) { return bytes_[index(i)]; }

  std::string compare(const std::vector<int>& seen) {
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const Byte found = at(static_cast<Offset>(i));
      if (seen[i] == kUnknown || seen[i] == found) continue;
      return "byte " + std::to_string(i) + " of " + std::to_string(seen.size()) + " is " +
             std::to_string(found) + ", not " + std::to_string(seen[i]);
    }
    return {};
  }

  const Part& part_;
  Map map_;
  bool write_;
  Offset base_ = 0;
  std::vector<Byte> bytes_;
  std::vector<Byte> before_;
};

}  // namespace exerciser
