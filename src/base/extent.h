// Extent: a range of bytes of an object or a file, and lists of them that are one stream of bytes.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <span>
#include <vector>

#include "base/units.h"

namespace tutti {

struct Extent {
  Bytes offset;
  Bytes length;
  [[nodiscard]] constexpr Bytes end() const { return offset + length; }
  auto operator<=>(const Extent&) const = default;
};

// Goes through the bytes of a list of extents, in its order. The list must outlive this.
class ExtentWalk {
 public:
  explicit ExtentWalk(std::span<const Extent> extents) : left_(extents) { pass_empty(); }

  [[nodiscard]] bool done() const { return left_.empty(); }
  // How many bytes it has passed.
  [[nodiscard]] Bytes at() const { return at_; }
  // What is left of the extent it is in.
  [[nodiscard]] Extent front() const {
    return {left_.front().offset + within_, left_.front().length - within_};
  }
  // The extents that are left, if it is at the begin of one; else nothing.
  [[nodiscard]] std::span<const Extent> whole() const {
    return within_ == Bytes() ? left_ : std::span<const Extent>();
  }
  // Passes the next bytes, at most so many, of one extent.
  Extent next(Bytes most) {
    const Extent rest = front();
    const Extent part{rest.offset, std::min(rest.length, most)};
    within_ += part.length;
    at_ += part.length;
    if (part.length == rest.length) {
      left_ = left_.subspan(1);
      within_ = Bytes();
      pass_empty();
    }
    return part;
  }

 private:
  void pass_empty() {
    while (!left_.empty() && left_.front().length == Bytes()) left_ = left_.subspan(1);
  }

  std::span<const Extent> left_;
  Bytes within_;
  Bytes at_;
};

// Of the stream that the extents are, the bytes from `begin` to `end`.
inline std::vector<Extent> slice(std::span<const Extent> extents, Bytes begin, Bytes end) {
  std::vector<Extent> parts;
  ExtentWalk walk(extents);
  while (!walk.done() && walk.at() < begin) walk.next(begin - walk.at());
  while (!walk.done() && walk.at() < end) parts.push_back(walk.next(end - walk.at()));
  return parts;
}

}  // namespace tutti
