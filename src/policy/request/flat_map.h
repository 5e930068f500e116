// FlatMap: from a key to a 32-bit handle, in one array. What request policies look things up with.
//
// Open addressing with linear probing; a removal closes the gap, so that a long life leaves no debris. At
// most half full. Iteration is not offered: its order would depend on the history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"

namespace tutti {

// Also for ids from a counter: unmixed they would fill one long run of cells, and a removal walks to the end
// of its run.
struct HashOfNumber {
  std::uint64_t operator()(std::uint64_t key) const { return mix64(key); }
};
struct NumberPair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  bool operator==(const NumberPair&) const = default;
};
struct HashOfPair {
  std::uint64_t operator()(const NumberPair& key) const { return mix64(mix64(key.first) ^ key.second); }
};

template <typename Key, typename Hash>
class FlatMap {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::size_t size() const { return size_; }

  // kNone if the key is not there.
  [[nodiscard]] std::uint32_t find(const Key& key) const {
    if (cells_.empty()) return kNone;
    return cells_[place_of(key)].value;
  }
  // The key must not be there yet; the value is not kNone.
  void insert(const Key& key, std::uint32_t value) {
    if (2 * (size_ + 1) > cells_.size()) grow();
    cells_[place_of(key)] = Cell{key, value};
    ++size_;
  }
  // The key must be there.
  void erase(const Key& key) {
    std::size_t gap = place_of(key);
    for (std::size_t at = next(gap); cells_[at].value != kNone; at = next(at)) {
      // A cell may move into the gap unless that lies before its home.
      const std::size_t home = home_of(cells_[at].key);
      if (((at - home) & mask()) < ((at - gap) & mask())) continue;
      cells_[gap] = cells_[at];
      gap = at;
    }
    cells_[gap].value = kNone;
    --size_;
  }

 private:
  struct Cell {
    Key key{};
    std::uint32_t value = kNone;
  };
  [[nodiscard]] std::size_t mask() const { return cells_.size() - 1; }
  [[nodiscard]] std::size_t home_of(const Key& key) const {
    return static_cast<std::size_t>(Hash()(key)) & mask();
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  // Where the key is, or where it would be.
  [[nodiscard]] std::size_t place_of(const Key& key) const {
    std::size_t at = home_of(key);
    while (cells_[at].value != kNone && !(cells_[at].key == key)) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Cell> old = std::exchange(cells_, std::vector<Cell>(cells_.empty() ? 16 : 2 * cells_.size()));
    for (const Cell& cell : old) {
      if (cell.value != kNone) cells_[place_of(cell.key)] = cell;
    }
  }

  std::vector<Cell> cells_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace tutti
