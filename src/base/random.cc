#include "base/random.h"

#include <bit>
#include <cmath>

namespace tutti {

Random::Random(std::uint64_t seed) : state_() {
  for (auto& word : state_) {
    word = mix64(seed);
    seed += 0x9e3779b97f4a7c15U;
  }
}

std::uint64_t Random::next() {
  auto& s = state_;
  const std::uint64_t result = std::rotl(s[1] * 5, 7) * 9;
  const std::uint64_t t = s[1] << 17U;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  // Lemire's multiply-and-reject: unbiased, one division at most.
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Wide>(next()) * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

Nanos Random::exponential(Nanos mean) {
  return Nanos(static_cast<std::int64_t>(-std::log(1.0 - unit()) * static_cast<double>(mean.count()) + 0.5));
}

Random Random::fork() { return Random(next()); }

}  // namespace tutti
