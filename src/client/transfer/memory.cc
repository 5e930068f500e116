#include "client/transfer/memory.h"

#include <algorithm>
#include <cstring>

namespace tutti {

std::byte* pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void append(Segments& list, Segment segment) {
  if (!list.empty() && list.back().address + list.back().length == segment.address) {
    list.back().length += segment.length;
  } else {
    list.push_back(segment);
  }
}

void scatter(std::span<const std::byte> bytes, std::span<const Segment> memory) {
  std::size_t at = 0;
  for (const Segment& segment : memory) {
    std::memcpy(pointer(segment.address), bytes.data() + at, segment.length);
    at += segment.length;
  }
}

void zero(std::span<const Segment> memory, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t at = 0;
  for (const Segment& segment : memory) {
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + segment.length);
    if (from < to) std::memset(pointer(segment.address) + (from - at), 0, to - from);
    at += segment.length;
  }
}

void bring_in(std::span<const Segment> memory, bool to_write) {
  constexpr std::uint64_t kPage = 4096;
  for (const Segment& segment : memory) {
    const std::uint64_t end = segment.address + segment.length;
    for (std::uint64_t at = segment.address; at < end; at = (at / kPage + 1) * kPage) {
      auto& byte = *reinterpret_cast<unsigned char*>(pointer(at));
      // Adds nothing, in one step: whoever else writes there is not disturbed.
      if (to_write) {
        __atomic_fetch_or(&byte, 0, __ATOMIC_RELAXED);
      } else {
        __atomic_load_n(const_cast<const volatile unsigned char*>(&byte), __ATOMIC_RELAXED);
      }
    }
  }
}

std::span<const Segment> MemoryWalk::next(Bytes length) {
  std::uint64_t left = length.count();
  if (used_ == 0) {
    const std::size_t first = segment_;
    while (left > 0 && left >= memory_[segment_].length) left -= memory_[segment_++].length;
    if (left == 0) return memory_.subspan(first, segment_ - first);
    segment_ = first;
    left = length.count();
  }
  parts_.clear();
  while (left > 0) {
    const Segment& whole = memory_[segment_];
    const std::uint64_t step = std::min(left, whole.length - used_);
    parts_.push_back(Segment{whole.address + used_, step});
    left -= step;
    used_ += step;
    if (used_ == whole.length) {
      ++segment_;
      used_ = 0;
    }
  }
  return parts_;
}

}  // namespace tutti
