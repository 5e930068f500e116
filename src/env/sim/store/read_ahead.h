// ReadAhead: how far to read ahead of a sequential reader, as Linux' on-demand read-ahead does. Pure.
//
// Counts pages. A window is read at once; when the reader reaches the marker in it, the next, larger one is
// read in the background. Random reads get what they ask for.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tutti {

class ReadAhead {
 public:
  struct Window {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };

  // The page is not there, or is the marker. What to read, for a request that still wants `wanted` pages from
  // `page` on, with windows of at most `most` pages.
  Window next(std::uint64_t page, std::uint64_t wanted, std::uint64_t most) {
    if (most == 0) return {page, wanted};
    const bool follows = size_ > 0 && (page == marker() || page == start_ + size_);
    if (follows) {
      start_ += size_;
      size_ = grow(size_, most);
      ahead_ = size_;
    } else if (page == 0 || wanted > most || (read_before_ && page - last_ <= 1)) {
      start_ = page;
      size_ = initial(wanted, most);
      ahead_ = size_ > wanted ? size_ - wanted : size_;
    } else {
      return {page, wanted};
    }
    return {start_, size_};
  }
  // Where in the current window the next one is due.
  [[nodiscard]] std::uint64_t marker() const { return start_ + size_ - ahead_; }
  [[nodiscard]] std::uint64_t window_end() const { return start_ + size_; }
  [[nodiscard]] bool active() const { return size_ > 0; }
  // The last page that a request has read.
  void read_up_to(std::uint64_t page) {
    last_ = page;
    read_before_ = true;
  }

 private:
  static std::uint64_t initial(std::uint64_t wanted, std::uint64_t most) {
    const std::uint64_t size = std::bit_ceil(wanted);
    if (size <= most / 32) return size * 4;
    if (size <= most / 4) return size * 2;
    return most;
  }
  static std::uint64_t grow(std::uint64_t size, std::uint64_t most) {
    if (size < most / 16) return size * 4;
    return std::min(size * 2, most);
  }

  std::uint64_t start_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t ahead_ = 0;
  std::uint64_t last_ = 0;
  bool read_before_ = false;
};

}  // namespace tutti
