#include "parallel/coverage.h"

#include <algorithm>
#include <bit>

namespace tutti {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

void Coverage::reset(Bytes length) { words_.assign((length.count() + 63) / 64, 0); }

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
  for (std::uint64_t at = find(begin, end, true); at < end;) {
    const std::uint64_t behind = find(at, end, false);
    found.push_back({origin + Bytes(at - begin), Bytes(behind - at)});
    at = find(behind, end, true);
  }
}

}  // namespace tutti
