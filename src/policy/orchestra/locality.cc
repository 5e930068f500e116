#include "policy/orchestra/locality.h"

#include <algorithm>

namespace tutti {
namespace {

// Of a long request, so many pieces change a running average: later ones have no influence any more.
constexpr std::uint64_t kMostAveraged = 8;
// A smaller sample of the time per byte counts as so many.
constexpr int kLessCounts = 16;
// The device goes on, or skips a little: no jump.
constexpr std::uint64_t kNearUnits = 4;

}  // namespace

void JumpCost::add(bool far, Bytes bytes, Nanos time) {
  if (bytes == 0_B) return;
  const auto nanos = static_cast<double>(time.count());
  const auto size = static_cast<double>(bytes.count());
  if (!far) {
    // What is least is what the device needs; the rest was somebody else's.
    const bool less = near_.known() && nanos / size < near_.value();
    for (int i = 0; i < (less ? kLessCounts : 1); ++i) near_.add(nanos / size);
    return;
  }
  jump_.add(std::max(0.0, nanos - size * near_.value_or(0)));
}

Nanos JumpCost::value() const {
  return jump_.known() ? Nanos(static_cast<std::int64_t>(jump_.value())) : first_;
}

Locality::Track Locality::blank() const {
  return {{{}, RunningAverage(weight_), RunningAverage(weight_)}, {}, {}, {}};
}

const Locality::Row* Locality::program(std::uint64_t program) const {
  const auto found = programs_.find(program);
  return found == programs_.end() ? nullptr : &found->second.row;
}

bool Locality::go(Track& track, const Stretch& stretch) const {
  const std::uint64_t count = pieces(stretch.length);
  bool jump = false;
  if (track.at) {
    const Bytes first =
        stretch.address > *track.at ? stretch.address - *track.at : *track.at - stretch.address;
    ++track.row.sums.gaps;
    track.row.sums.distance += first;
    track.row.gap.add(static_cast<double>(first.count()));
    jump = first > unit_ * kNearUnits;
    track.row.sums.far += jump ? 1 : 0;
  }
  track.row.sums.gaps += count - 1;
  track.row.sums.distance += unit_ * (count - 1);
  for (std::uint64_t i = 1; i < std::min(count, kMostAveraged); ++i)
    track.row.gap.add(static_cast<double>(unit_.count()));
  track.at = stretch.address + unit_ * (count - 1);
  return jump;
}

void Locality::come_back(Track& track, std::uint64_t pieces, Nanos slice, Nanos now) {
  if (track.last && track.slice == slice) {
    const Nanos passed = now - *track.last;
    track.row.sums.reuses += pieces;
    track.row.sums.reuse += passed;
    track.row.reuse.add(static_cast<double>(passed.count()) / static_cast<double>(pieces));
  }
  track.last = now;
  track.slice = slice;
}

bool Locality::begin(std::uint64_t program, std::span<const Stretch> device, bool addresses, Bytes length,
                     const std::optional<Dedicated>& dedicated, Nanos now) {
  const auto [found, added] = programs_.try_emplace(program);
  if (added) found->second = blank();
  Track& own = found->second;
  bool jump = false;
  for (const Stretch& stretch : device) {
    jump = go(all_, stretch) || jump;
    go(own, stretch);
  }
  if (!dedicated || (addresses && device.empty())) return jump;
  Bytes asked = addresses ? 0_B : length;
  for (const Stretch& stretch : device) asked += stretch.length;
  come_back(dedicated->rest ? rest_ : own, pieces(asked), dedicated->since, now);
  return jump;
}

}  // namespace tutti
