// TwoWindows: how far to read ahead of a sequential reader, as Linux did it up to 2.6.22. Pure.
//
// Counts pages. While a reader walks through the current window, the ahead window is being read; when it comes there, that
// one becomes the current one, and the next is read. One read that does not begin where the one before it ended throws
// both away, and gets what it asks for, at most a window at a time. What is found in memory all the time ends read-ahead,
// until something is missing. After mm/readahead.c of that time; read_ahead.h is what came later.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tutti {

class TwoWindows {
 public:
  // A read has come to `page` and still wants `wanted` pages from there on; windows have at most `most` pages. Calls
  // fetch(first, count), which begins to read what is missing there and returns how many pages that is. Returns the page at
  // which this is to be called again, if the read comes so far.
  template <typename Fetch>
  std::uint64_t next(std::uint64_t page, std::uint64_t wanted, std::uint64_t most, Fetch fetch) {
    if (most == 0) {
      fetch(page, wanted);
      return page + wanted;
    }
    if (page == last_ && --wanted > 0) ++page;
    const bool follows = page == last_ + 1;
    last_ = page;
    const std::uint64_t now = std::min(wanted, most);
    if (now == 0 || in_memory_) return last_ + 1;
    last_ += now - 1;
    if (!follows) {
      forget();
      read(page, now, fetch);
    } else if (size_ == 0) {
      start_ = page;
      size_ = initial(now, most);
      if (read(start_, size_, fetch) && wanted >= most) make_ahead(most, true, fetch);
    } else {
      walk_on(most, fetch);
    }
    return last_ + 1;
  }
  // A page is missing that next() should have had read.
  void missed() {
    missed_ = true;
    in_memory_ = false;
    hits_ = 0;
  }

 private:
  static constexpr std::uint64_t kMostHits = 256;  // pages found in memory in a row
  static constexpr std::uint64_t kLeast = 4;       // pages of a window that shrinks

  template <typename Fetch>
  void walk_on(std::uint64_t most, Fetch fetch) {
    if (ahead_size_ > 0 || make_ahead(most, false, fetch)) {
      if (last_ < ahead_start_) return;
      start_ = ahead_start_;
      size_ = ahead_size_;
      make_ahead(most, false, fetch);
    }
    // Not past the ahead window.
    if (ahead_size_ > 0) last_ = std::min(last_, ahead_start_ + ahead_size_ - 1);
  }
  template <typename Fetch>
  bool make_ahead(std::uint64_t most, bool keep, Fetch fetch) {
    ahead_size_ = grown(most);
    ahead_start_ = start_ + size_;
    const bool on = read(ahead_start_, ahead_size_, fetch);
    if (!on && !keep) ahead_start_ = ahead_size_ = 0;
    return on;
  }
  // False if read-ahead ends because everything is in memory.
  template <typename Fetch>
  bool read(std::uint64_t first, std::uint64_t count, Fetch fetch) {
    if (fetch(first, count) > 0) {
      hits_ = 0;
      return true;
    }
    hits_ += count;
    if (hits_ < kMostHits) return true;
    forget();
    in_memory_ = true;
    return false;
  }
  void forget() {
    start_ = size_ = ahead_start_ = ahead_size_ = 0;
    missed_ = in_memory_ = false;
  }
  static std::uint64_t initial(std::uint64_t wanted, std::uint64_t most) {
    const std::uint64_t size = std::bit_ceil(wanted);
    if (size <= most / 32) return size * 4;
    if (size <= most / 4) return size * 2;
    return most;
  }
  std::uint64_t grown(std::uint64_t most) {
    std::uint64_t size = size_ < most / 16 ? size_ * 4 : size_ * 2;
    if (missed_) size = size_ > kLeast + 2 ? size_ - 2 : kLeast;
    missed_ = false;
    return std::min(size, most);
  }

  std::uint64_t start_ = 0;  // the current window; of size 0: none
  std::uint64_t size_ = 0;
  std::uint64_t ahead_start_ = 0;
  std::uint64_t ahead_size_ = 0;
  std::uint64_t last_ = ~std::uint64_t{0};  // page that was asked for; the first of a file follows it
  std::uint64_t hits_ = 0;
  bool missed_ = false;
  bool in_memory_ = false;
};

}  // namespace tutti
