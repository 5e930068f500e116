// Sweep: loads under the paper's own two ways, and what resonance gains at each.
#pragma once

#include <string>
#include <vector>

#include "lab/experiments/resonant/bed.h"

namespace tutti::resonance {

class Sweep {
 public:
  explicit Sweep(Points& points) : points_(points) {}

  void add(Json parameters, const Load& load, const Bed& bed = {});
  // Of the points that were added, after they have been run; of reads or of writes.
  [[nodiscard]] double largest_gain(bool write) const;
  [[nodiscard]] double best_rate(bool write) const;
  // Resonance over none, at the worst point.
  [[nodiscard]] double worst_ratio() const;
  [[nodiscard]] double gain(std::size_t at) const { return resonance::gain(points_, entries_[at].pair); }

 private:
  struct Entry {
    bool write;
    Pair pair;
  };
  Points& points_;
  std::vector<Entry> entries_;
};

// Bytes in a file that stands for one of the paper's 10 GB, and the servers' memory in the same proportion, for loads in
// which memory counts.
inline constexpr Bytes kShortFile = 512_MiB;
Bed bed_for(Bytes file);

}  // namespace tutti::resonance
