// Fingerprints: a set of 64-bit hashes that mostly holds one, sometimes thousands. How a group of requests knows which
// operations it has counted.
//
// Eight bytes an element, none but the first in memory of its own. Two things with one fingerprint count as one: with good
// hashes a matter of 2^-64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti {

class Fingerprints {
 public:
  // Whether it is new here.
  bool insert(std::uint64_t hash) {
    if (hash == kNone) hash = kNone + 1;
    if (first_ == kNone) {
      first_ = hash;
      return true;
    }
    if (hash == first_) return false;
    if (4 * (size_ + 1) > 3 * cells_.size()) grow();
    std::uint64_t& cell = cells_[place_of(hash)];
    if (cell == hash) return false;
    cell = hash;
    ++size_;
    return true;
  }

 private:
  static constexpr std::uint64_t kNone = 0;
  static constexpr std::size_t kLeast = 8;

  // Where the hash is, or where it would be.
  [[nodiscard]] std::size_t place_of(std::uint64_t hash) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    while (cells_[at] != kNone && cells_[at] != hash) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    const std::vector<std::uint64_t> old =
        std::exchange(cells_, std::vector<std::uint64_t>(cells_.empty() ? kLeast : 2 * cells_.size(), kNone));
    for (const std::uint64_t hash : old) {
      if (hash != kNone) cells_[place_of(hash)] = hash;
    }
  }

  std::uint64_t first_ = kNone;
  std::vector<std::uint64_t> cells_;  // the others, at most three in four; a power of two
  std::size_t size_ = 0;              // of them
};

}  // namespace tutti
