#include "layout/view_share.h"

#include <algorithm>

namespace tutti {
namespace {

Bytes unsigned_bytes(std::int64_t bytes) { return Bytes(static_cast<std::uint64_t>(bytes)); }

void append(std::vector<Extent>& list, Extent extent) {
  if (!list.empty() && list.back().end() == extent.offset) {
    list.back().length += extent.length;
  } else {
    list.push_back(extent);
  }
}

// Walks the runs of the range and keeps what falls on the slot.
class ShareWalk {
 public:
  ShareWalk(const FileView& view, const Layout& layout, std::uint32_t slot, std::int64_t offset,
            const ViewShareLimits& limits, ViewShare& share)
      : view_(view),
        stripe_(static_cast<std::int64_t>(layout.stripe_size.count())),
        count_(layout.stripe_count),
        slot_(slot),
        offset_(offset),
        limits_(limits),
        share_(share),
        cursor_(view.cursor(offset)) {}

  Status walk(std::int64_t bytes) {
    const bool jumps = count_ > 1 && view_.ascending();
    for (std::int64_t at = 0; at < bytes;) {
      const TypeRun run = cursor_.next(bytes - at);
      const std::int64_t next = keep(run, at);
      if (share_.object.size() > limits_.extents || share_.data.size() > limits_.extents ||
          ++steps_ > limits_.steps) {
        return {Code::too_large, "too many blocks of the view in one request: ask for a shorter range"};
      }
      at += run.length;
      if (!jumps || next <= run.offset + run.length || at >= bytes) continue;
      // Nothing of what lies before the next stripe of the slot counts.
      const std::int64_t to = std::min(bytes, view_.data_before(next) - offset_);
      if (to <= at) continue;
      at = to;
      if (at < bytes) cursor_.seek(offset_ + at);
    }
    return {};
  }

 private:
  // Keeps what of a run falls on the slot. Returns where the slot's bytes go on: at the end of the run or behind it.
  std::int64_t keep(const TypeRun& run, std::int64_t at) {
    std::int64_t place = run.offset;
    const std::int64_t end = run.offset + run.length;
    if (count_ == 1) {
      add(place, run.length, at);
      return end;
    }
    for (;;) {
      const std::int64_t stripe = place / stripe_;
      const std::int64_t round = stripe / count_;
      const std::int64_t here = stripe - round * count_;
      if (here != slot_) {
        place = (round * count_ + slot_ + (here > slot_ ? count_ : 0)) * stripe_;
        if (place >= end) return place;
        continue;
      }
      if (place == end) return place;
      const std::int64_t until = std::min(end, (stripe + 1) * stripe_);
      add(round * stripe_ + (place - stripe * stripe_), until - place, at + (place - run.offset));
      place = until;
      if (++steps_ > limits_.steps) return end;
    }
  }
  void add(std::int64_t object, std::int64_t length, std::int64_t data) {
    append(share_.object, {unsigned_bytes(object), unsigned_bytes(length)});
    append(share_.data, {unsigned_bytes(data), unsigned_bytes(length)});
    share_.length += unsigned_bytes(length);
  }

  const FileView& view_;
  std::int64_t stripe_;
  std::int64_t count_;
  std::int64_t slot_;
  std::int64_t offset_;
  const ViewShareLimits& limits_;
  ViewShare& share_;
  TypeCursor cursor_;
  std::size_t steps_ = 0;
};

}  // namespace

Status find_share(const FileView& view, const Layout& layout, std::uint32_t slot, std::int64_t offset,
                  std::int64_t bytes, std::int64_t end, const ViewShareLimits& limits, ViewShare& share) {
  share.object.clear();
  share.data.clear();
  share.length = 0_B;
  std::int64_t behind = 0;
  if (offset < 0 || bytes <= 0 || __builtin_add_overflow(offset, bytes, &behind) ||
      !view.lies_before(behind, end)) {
    return {Code::too_large, "the range of the view is empty, or reaches past the largest offset"};
  }
  return ShareWalk(view, layout, slot, offset, limits, share).walk(bytes);
}

}  // namespace tutti
