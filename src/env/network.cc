#include "env/network.h"

namespace tutti {

Status Region::index() {
  ends.clear();
  ends.reserve(segments.size());
  std::uint64_t total = 0;
  for (const Segment& segment : segments) {
    if (__builtin_add_overflow(total, segment.length, &total))
      return {Code::invalid, "the lengths of a region's segments overflow"};
    ends.push_back(total);
  }
  return {};
}

}  // namespace tutti
