#include "parallel/coverage.h"

#include <algorithm>
#include <bit>

namespace tutti {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

void Coverage::reset(Bytes length) {
  length_ = length.count();
  words_.assign((length_ + 63) / 64, 0);
}

void Coverage::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
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

std::uint64_t Coverage::find(std::uint64_t from, bool value) const {
  if (from >= length_) return length_;
  std::uint64_t word = from / 64;
  std::uint64_t bits = (value ? words_[word] : ~words_[word]) & (kAll << (from % 64));
  while (bits == 0) {
    if (++word == words_.size()) return length_;
    bits = value ? words_[word] : ~words_[word];
  }
  return std::min<std::uint64_t>(length_, word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
}

std::vector<Extent> Coverage::extents(Bytes origin) const {
  std::vector<Extent> found;
  for (std::uint64_t at = find(0, true); at < length_;) {
    const std::uint64_t end = find(at, false);
    found.push_back({origin + Bytes(at), Bytes(end - at)});
    at = find(end, true);
  }
  return found;
}

}  // namespace tutti
