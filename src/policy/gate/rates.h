// Rates: what n writers move together, learned from what each wrote in which time. Pure.
//
// A writer that ends tells how much it wrote, and how long it wrote beside how many; that is compared with what the rates so far
// say, and the rates at those numbers are corrected. `best()` is the least number of writers whose rate is within kMargin of the
// highest that was seen; numbers of which little was seen count as somewhat better than they look (kBonus), so that a wrong first
// impression is corrected. More than were ever seen are taken to write as fast, each, as the most that were; fewer, to move as
// much together as the fewest that were: so both are tried where they may do good, and are known then.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace tutti::gate {

class Rates {
 public:
  static constexpr double kMargin = 0.05;
  static constexpr double kBonus = 0.3;           // over the root of the writers' worth of measurement
  static constexpr std::size_t kRemembered = 48;  // writers that ended last, of which the rates are made
  static constexpr std::uint32_t kMost = 64;      // writers beyond count as so many

  using Spent = std::vector<std::pair<std::uint32_t, double>>;  // seconds beside so many, itself included

  // True if that changed what was thought of a number of writers: it was not measured before, or was far off.
  bool observe(const Spent& spent, double written);

  [[nodiscard]] bool known() const { return !rates_.empty(); }
  [[nodiscard]] bool measured(std::uint32_t n) const;
  // Bytes per second of each of n writers; 0 before anything was seen.
  [[nodiscard]] double per_writer(std::uint32_t n) const;
  // Of all of them together.
  [[nodiscard]] double together(std::uint32_t n) const { return per_writer(n) * n; }
  // 0 before anything was seen.
  [[nodiscard]] std::uint32_t best() const;
  // How many to let in, to reach the best rate or to find out whether fewer do. 0 before anything was seen.
  [[nodiscard]] std::uint32_t enough() const;

 private:
  struct Rate {
    double per_writer = 0;
    double weight = 0;  // writers' worth of measurement
  };
  struct Observation {
    double written = 0;
    double seconds = 0;
    Spent spent;
  };
  void fit();

  std::map<std::uint32_t, Rate> rates_;
  std::deque<Observation> observed_;  // the oldest first
};

}  // namespace tutti::gate
