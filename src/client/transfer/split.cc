#include "client/transfer/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "wire/messages.h"

namespace tutti {
namespace {

// Finds the share of a slot, or makes it. Most transfers stay on the slot they were on or go on to a new one, so that
// the index is made only when there is a choice.
class ShareFinder {
 public:
  ShareFinder(const Layout& layout, Shares& shares) : layout_(layout), shares_(shares) {}

  Share& of(std::uint32_t slot) {
    if (!shares_.empty() && shares_[last_].slot == slot) return shares_[last_];
    if (shares_.empty()) {
      last_ = 0;
      return make(slot);
    }
    if (index_.empty()) {
      index_.extend(layout_.stripe_count, kNone);
      index_[shares_.front().slot] = 0;
    }
    if (index_[slot] == kNone) {
      index_[slot] = static_cast<std::uint32_t>(shares_.size());
      make(slot);
    }
    last_ = index_[slot];
    return shares_[last_];
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  Share& make(std::uint32_t slot) {
    Share& share = shares_.emplace_back();
    share.slot = slot;
    return share;
  }

  const Layout& layout_;
  Shares& shares_;
  std::size_t last_ = 0;
  SmallVector<std::uint32_t, 16> index_;  // by slot; empty while there is at most one share
};

void append(Extents& list, Extent extent) {
  if (!list.empty() && list.back().end() == extent.offset) {
    list.back().length += extent.length;
  } else {
    list.push_back(extent);
  }
}

}  // namespace

Status check_lists(std::span<const Extent> file, std::span<const Segment> memory) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t in_file = 0;
  for (const Extent& extent : file) {
    const std::uint64_t length = extent.length.count();
    if (extent.offset.count() > wire::kMaxOffset || length > wire::kMaxOffset - extent.offset.count()) {
      return {Code::too_large,
              fmt::format("extent {}+{} lies past the largest offset", extent.offset.count(), length)};
    }
    if (length > kMost - in_file) return {Code::too_large, "the file extents have too many bytes in all"};
    in_file += length;
  }
  std::uint64_t in_memory = 0;
  for (const Segment& segment : memory) {
    if (segment.length > kMost - in_memory) return {Code::too_large, "the memory has too many bytes in all"};
    in_memory += segment.length;
  }
  if (in_file == in_memory) return {};
  return {Code::invalid, fmt::format("the file extents have {} bytes, the memory {}", in_file, in_memory)};
}

Shares split(const Layout& layout, std::span<const Extent> file, std::span<const Segment> memory) {
  Shares shares;
  ShareFinder finder(layout, shares);
  for_each_stripe(layout, file, memory,
                  [&](std::uint32_t slot, Bytes offset, Bytes length, std::span<const Segment> segments) {
                    Share& share = finder.of(slot);
                    append(share.object, Extent{offset, length});
                    for (const Segment& segment : segments) append(share.memory, segment);
                    share.length += length;
                    return true;
                  });
  return shares;
}

}  // namespace tutti
