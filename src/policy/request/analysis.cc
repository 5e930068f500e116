#include "policy/request/analysis.h"

#include <cmath>

namespace tutti {
namespace {

// The sum of (k / m)^n for k = 1 to m - 1, each power as such: k^n and m^n alone are out of range soon. From
// the largest down, with the rounding error carried along.
double sum_of_powers(std::uint64_t m, std::uint64_t n) {
  double sum = 0;
  double carried = 0;
  for (std::uint64_t j = 1; j < m; ++j) {
    const double below_one = static_cast<double>(j) / static_cast<double>(m);
    const double term = std::exp(static_cast<double>(n) * std::log1p(-below_one));
    if (term < sum * 1e-25) break;
    const double next = sum + term;
    carried += (sum - next) + term;
    sum = next;
  }
  return sum + carried;
}

}  // namespace

double uncoordinated_completion(std::uint64_t applications, std::uint64_t servers, double service_time) {
  return (static_cast<double>(applications) - sum_of_powers(applications, servers)) * service_time;
}

double coordinated_completion(std::uint64_t applications, double service_time) {
  return (static_cast<double>(applications) + 1) / 2 * service_time;
}

double completion_reduction(std::uint64_t applications, std::uint64_t servers, double service_time) {
  return ((static_cast<double>(applications) - 1) / 2 - sum_of_powers(applications, servers)) * service_time;
}

double completion_reduction_rate(std::uint64_t applications, std::uint64_t servers) {
  return completion_reduction(applications, servers) / uncoordinated_completion(applications, servers);
}

}  // namespace tutti
