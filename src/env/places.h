// Places: memory as a list, for bytes that are one stream and lie apart. Whoever passes a list keeps it, and the memory,
// until the operation that uses it has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti {

using Places = std::span<const std::span<std::byte>>;
using ConstPlaces = std::span<const std::span<const std::byte>>;

// The list of one item, which must outlive it.
template <typename T>
constexpr std::span<const T> only(const T& item) {
  return {&item, 1};
}
template <typename T>
void only(const T&& item) = delete;

template <typename Byte>
constexpr std::size_t length_of(std::span<const std::span<Byte>> places) {
  std::size_t length = 0;
  for (const std::span<Byte> place : places) length += place.size();
  return length;
}

// Goes through the bytes of a list of places.
template <typename Byte>
class PlaceWalk {
 public:
  explicit PlaceWalk(std::span<const std::span<Byte>> places) : left_(places) { pass_empty(); }

  [[nodiscard]] bool done() const { return left_.empty(); }
  // How many bytes it has passed.
  [[nodiscard]] std::size_t at() const { return at_; }
  // Passes the next bytes, at most so many, of one place.
  std::span<Byte> next(std::size_t most) {
    const std::span<Byte> rest = left_.front().subspan(within_);
    const std::span<Byte> part = rest.first(std::min(rest.size(), most));
    within_ += part.size();
    at_ += part.size();
    if (part.size() == rest.size()) {
      left_ = left_.subspan(1);
      within_ = 0;
      pass_empty();
    }
    return part;
  }

 private:
  void pass_empty() {
    while (!left_.empty() && left_.front().empty()) left_ = left_.subspan(1);
  }

  std::span<const std::span<Byte>> left_;
  std::size_t within_ = 0;
  std::size_t at_ = 0;
};

}  // namespace tutti
