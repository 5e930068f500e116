#include "parallel/packed_round.h"

#include "policy/collective/sieve.h"

namespace tutti {

void PackedRound::reset(const Round& round) {
  parts_.clear();
  stretches_.clear();
  bytes_ = 0_B;
  for (const Extent& part : round) {
    parts_.push_back({part, bytes_.count()});
    if (!stretches_.empty() && stretches_.back().file.end() == part.offset) {
      stretches_.back().file.length += part.length;
    } else {
      stretches_.push_back(parts_.back());
    }
    bytes_ += part.length;
  }
  wanted_.reset(bytes_);
}

PackedRound::Wanted PackedRound::wanted(Bytes hole) const {
  Wanted wanted;
  std::vector<Extent> found;
  for (const Part& stretch : stretches_) {
    found.clear();
    wanted_.append_to(found, stretch.at, stretch.at + stretch.file.length.count(), stretch.file.offset);
    if (hole > 0_B) found = join_over_holes(found, hole, stretch.file.length);
    for (const Extent& extent : found) {
      wanted.file.push_back(extent);
      wanted.bytes += extent.length;
      const Bytes place = Bytes(stretch.at) + (extent.offset - stretch.file.offset);
      if (!wanted.buffer.empty() && wanted.buffer.back().end() == place) {
        wanted.buffer.back().length += extent.length;
      } else {
        wanted.buffer.push_back({place, extent.length});
      }
    }
  }
  return wanted;
}

}  // namespace tutti
