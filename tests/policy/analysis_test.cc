#include "policy/request/analysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.h"

namespace tutti {
namespace {

// Formula 1 as it stands, for small numbers.
double formula_1(std::uint64_t m, std::uint64_t n) {
  double sum = 0;
  for (std::uint64_t k = 1; k < m; ++k) sum += std::pow(static_cast<double>(k), static_cast<double>(n));
  return static_cast<double>(m) - sum / std::pow(static_cast<double>(m), static_cast<double>(n));
}

TEST(CompletionAnalysis, AgreesWithTheFormulasOfThePaper) {
  for (std::uint64_t m = 1; m <= 16; ++m) {
    for (std::uint64_t n = 1; n <= 16; ++n) {
      EXPECT_NEAR(uncoordinated_completion(m, n), formula_1(m, n), 1e-9) << m << " " << n;
      EXPECT_NEAR(completion_reduction(m, n, 2.5),
                  uncoordinated_completion(m, n, 2.5) - coordinated_completion(m, 2.5), 1e-9);
    }
  }
  EXPECT_DOUBLE_EQ(coordinated_completion(9, 2), 10);
}

TEST(CompletionAnalysis, OneServerGainsNothing) {
  for (const std::uint64_t m : {1U, 2U, 10U, 1000U, 100'000U}) {
    EXPECT_NEAR(uncoordinated_completion(m, 1), (static_cast<double>(m) + 1) / 2,
                1e-9 * static_cast<double>(m));
    EXPECT_NEAR(completion_reduction(m, 1), 0, 1e-9);
  }
}

TEST(CompletionAnalysis, ManyServersApproachTheLimit) {
  const double m = 100'000;
  EXPECT_NEAR(uncoordinated_completion(10, 1'000'000), 10, 1e-12);
  EXPECT_NEAR(completion_reduction_rate(10, 1'000'000), 9.0 / 20, 1e-12);
  // (1 - j/m)^n is about exp(-10 j) here, a geometric series.
  EXPECT_NEAR(uncoordinated_completion(100'000, 1'000'000), m - 1 / (std::exp(10) - 1), 1e-7);
  EXPECT_NEAR(completion_reduction_rate(100'000, 1'000'000), 0.5, 1e-4);
}

TEST(CompletionAnalysis, AgreesWithChance) {
  constexpr std::size_t kApplications = 6;
  constexpr std::size_t kServers = 5;
  constexpr int kRuns = 20'000;
  Random random(1);
  double total = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::size_t> last(kApplications, 0);
    for (std::size_t server = 0; server < kServers; ++server) {
      std::vector<std::size_t> order(kApplications);
      std::iota(order.begin(), order.end(), std::size_t{0});
      random.shuffle(std::span(order));
      for (std::size_t place = 0; place < order.size(); ++place) {
        last[order[place]] = std::max(last[order[place]], place + 1);
      }
    }
    total += static_cast<double>(std::accumulate(last.begin(), last.end(), std::size_t{0}));
  }
  EXPECT_NEAR(total / (kRuns * kApplications), uncoordinated_completion(kApplications, kServers), 0.02);
}

}  // namespace
}  // namespace tutti
