#include "parallel/coverage.h"

#include <algorithm>
#include <bit>

namespace tutti {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

void Coverage::reset(Bytes length) {
  if (low_ < high_) {
    std::fill(words_.begin() + static_cast<std::ptrdiff_t>(low_ / 64),
              words_.begin() + static_cast<std::ptrdiff_t>((high_ + 63) / 64), 0);
  }
  low_ = kAll;
  high_ = 0;
  words_.resize(std::max<std::size_t>(words_.size(), (length.count() + 63) / 64), 0);
}

void Coverage::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  low_ = std::min(low_, begin);
  high_ = std::max(high_, end);
  const std::uint64_t first = begin / 64;
  const std::uint64_t last = (end - 1) / 64;
  const std::uint64_t head = kAll << (begin % 64);
  const std::uint64_t tail = kAll >> (63 - (end - 1) % 64);
  if (first == last) {
    words_[first] |= head & tail;
    return;
  }
  words_[first] |= head;
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
            words_.begin() + static_cast<std::ptrdiff_t>(last), kAll);
  words_[last] |= tail;
}

std::uint64_t Coverage::find(std::uint64_t from, std::uint64_t end, bool value) const {
  if (from >= end) return end;
  std::uint64_t word = from / 64;
  std::uint64_t bits = (value ? words_[word] : ~words_[word]) & (kAll << (from % 64));
  const std::uint64_t last = (end - 1) / 64;
  while (bits == 0) {
    if (++word > last) return end;
    bits = value ? words_[word] : ~words_[word];
  }
  return std::min<std::uint64_t>(end, word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
}

void Coverage::append_to(std::vector<Extent>& found, std::uint64_t begin, std::uint64_t end,
                         Bytes origin) const {
  const std::uint64_t stop = std::min(end, high_);
  for (std::uint64_t at = find(std::max(begin, low_), stop, true); at < stop;) {
    const std::uint64_t behind = find(at, stop, false);
    found.push_back({origin + Bytes(at - begin), Bytes(behind - at)});
    at = find(behind, stop, true);
  }
}

}  // namespace tutti
