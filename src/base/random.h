// Random: the one source of chance, our own so that a seed gives the same run on every platform and build.
//
// xoshiro256** seeded by splitmix64. Version 1: a change of the sequence, of below() or of shuffle() would
// change placement and results, and takes a new version.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/units.h"

namespace tutti {

// The finalizer of splitmix64: a good mix of 64 bits. Also our stable hash for numbers.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // Uniform in [0, bound), without bias. bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [low, high], both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }
  // Exponential with this mean.
  Nanos exponential(Nanos mean);
  // A generator of its own whose sequence does not depend on how this one is used afterwards.
  Random fork();

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(below(i));
      if (j != i - 1) std::swap(items[i - 1], items[j]);
    }
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace tutti
