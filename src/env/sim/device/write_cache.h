// WriteCache: what a disk has taken and not yet written. Pure bookkeeping: the disk says where its heads are and when.
//
// Whether writes are contiguous or scattered makes no difference to how they come in. Those that touch become one stretch,
// which is written in one go, up to kStep bytes at a time, so that a read never waits for long.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/units.h"

namespace tutti {

class WriteCache {
 public:
  static constexpr std::uint64_t kStep = 512 * 1024;
  struct Stretch {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
  };

  explicit WriteCache(Bytes size) : size_(size.count()) {}

  [[nodiscard]] bool empty() const { return stretches_.empty(); }
  [[nodiscard]] bool has_room(std::uint64_t length) const { return held_ + length <= size_; }
  // Whether a write of that length is ever taken.
  [[nodiscard]] bool takes(std::uint64_t length) const { return length <= size_; }

  void put(std::uint64_t address, std::uint64_t length);
  // Takes out the stretch, or its first kStep bytes, to which the heads get first by `cost(address)`.
  template <typename Cost>
  Stretch take_nearest(const Cost& cost) {
    auto nearest = stretches_.begin();
    auto least = cost(nearest->first);
    for (auto each = std::next(nearest); each != stretches_.end(); ++each) {
      const auto its = cost(each->first);
      if (its < least) {
        least = its;
        nearest = each;
      }
    }
    return take(nearest);
  }

 private:
  using Stretches = std::map<std::uint64_t, std::uint64_t>;  // address to end, apart from each other
  Stretch take(Stretches::iterator stretch);

  std::uint64_t size_;
  std::uint64_t held_ = 0;
  Stretches stretches_;
};

}  // namespace tutti
