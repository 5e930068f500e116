#include "base/crc32c.h"

#include <array>
#include <cassert>
#include <cstring>

namespace tutti {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78U;  // bits reversed: the highest is x^0
constexpr std::uint32_t kOne = 0x80000000U;
constexpr std::size_t kTables = 3;  // powers for numbers of 24 bits

constexpr std::uint32_t times_x(std::uint32_t a) { return (a >> 1U) ^ ((a & 1U) != 0 ? kPolynomial : 0); }

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1U, b = times_x(b)) {
    if ((a & kOne) != 0) product ^= b;
  }
  return product;
}

// powers[t][i]: x to the power of 8 * i * 256^t.
constexpr auto kPowers = [] {
  std::array<std::array<std::uint32_t, 256>, kTables> powers{};
  std::uint32_t step = kOne;
  for (int bit = 0; bit < 8; ++bit) step = times_x(step);
  for (auto& table : powers) {
    table[0] = kOne;
    for (std::size_t i = 1; i < table.size(); ++i) table[i] = multiply(table[i - 1], step);
    step = multiply(table.back(), step);
  }
  return powers;
}();

constexpr auto kBytes = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = times_x(table[i]);
  }
  return table;
}();

#if defined(__x86_64__)

// The instruction takes 3 cycles and one can begin in each: three parts of a long piece at the same time.
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::span<const std::byte> bytes,
                                                               std::uint32_t before) {
  constexpr std::size_t kWord = 8;
  constexpr std::size_t kWorthwhile = 1024;
  const auto word = [](const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, kWord);
    return value;
  };
  std::uint64_t sum = before;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  if (left >= kWorthwhile) {
    const std::size_t part = left / 3 / kWord * kWord;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (const std::byte* end = at + part; at != end; at += kWord) {
      sum = __builtin_ia32_crc32di(sum, word(at));
      second = __builtin_ia32_crc32di(second, word(at + part));
      third = __builtin_ia32_crc32di(third, word(at + 2 * part));
    }
    const auto first_two =
        crc32c_shift(static_cast<std::uint32_t>(sum), part) ^ static_cast<std::uint32_t>(second);
    sum = crc32c_shift(first_two, part) ^ third;
    at += 2 * part;
    left -= 3 * part;
  }
  for (; left >= kWord; at += kWord, left -= kWord) sum = __builtin_ia32_crc32di(sum, word(at));
  auto rest = static_cast<std::uint32_t>(sum);
  for (; left > 0; ++at, --left) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(*at));
  return rest;
}

#endif

// Of pieces that long only: a shift is for fewer than 2^24 bytes.
constexpr std::size_t kLongest = std::size_t{1} << 24U;

}  // namespace

std::uint32_t detail::crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before) {
  for (const std::byte each : bytes)
    before = (before >> 8U) ^ kBytes[(before ^ static_cast<std::uint32_t>(each)) & 0xffU];
  return before;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool there = __builtin_cpu_supports("sse4.2") != 0;
  if (there) {
    for (; bytes.size() > kLongest; bytes = bytes.subspan(kLongest))
      before = by_instruction(bytes.first(kLongest), before);
    return by_instruction(bytes, before);
  }
#endif
  return detail::crc32c_portable(bytes, before);
}

std::uint32_t crc32c_shift(std::uint32_t sum, std::uint64_t zeros) {
  assert(zeros < (std::uint64_t{1} << 24U));
  if (sum == 0) return 0;
  for (const auto& table : kPowers) {
    const auto digit = static_cast<std::size_t>(zeros & 0xffU);
    if (digit != 0) sum = multiply(sum, table[digit]);
    zeros >>= 8U;
  }
  return sum;
}

}  // namespace tutti
