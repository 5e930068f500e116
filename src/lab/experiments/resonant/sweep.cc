#include "lab/experiments/resonant/sweep.h"

#include <algorithm>

namespace tutti::resonance {

void Sweep::add(Json parameters, const Load& load, const Bed& bed) {
  parameters["operation"] = !load.write ? "read" : load.sync ? "write and sync" : "write";
  const Pair letter = add_letter(points_, parameters, load, bed);
  const std::string policy = default_policy(rotational(bed.medium));
  entries_.push_back({load.write,
                      letter,
                      {points_.add(parameters, bed, {"two_phase", policy}, load),
                       points_.add(parameters, bed, {"resonant", policy}, load)}});
}

double Sweep::largest_gain(bool write) const {
  double largest = -1;
  for (const Entry& entry : entries_) {
    if (entry.write == write) largest = std::max(largest, resonance::gain(points_, entry.pair));
  }
  return largest;
}

double Sweep::best_rate(bool write) const {
  double best = 0;
  for (const Entry& entry : entries_) {
    if (entry.write == write) best = std::max(best, points_.rate(entry.pair.with));
  }
  return best;
}

double Sweep::worst_ratio() const {
  double worst = 100;
  for (const Entry& entry : entries_) worst = std::min(worst, 1 + resonance::gain(points_, entry.users));
  return worst;
}

double Sweep::worst_letter() const {
  double worst = 100;
  for (const Entry& entry : entries_) worst = std::min(worst, 1 + resonance::gain(points_, entry.pair));
  return worst;
}

Bed bed_for(Bytes file) {
  Bed bed;
  bed.page_cache = std::max(16_MiB, bed.page_cache * file.count() / (10_GiB).count());
  return bed;
}

}  // namespace tutti::resonance
