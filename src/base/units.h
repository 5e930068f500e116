// Nanos and Bytes: the two quantities of the code base, as types of their own.
//
// Both are integers, so that a run repeats to the bit. Neither converts from or to a plain number by itself:
// say Nanos(5), 5_ms, Bytes(4096) or 64_KiB, and count() to get the number back.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace tutti {

// A point in time or a duration, signed. Points count from the start of the world's steady clock, or, where a
// name says `wall`, from 1970.
class Nanos {
 public:
  constexpr Nanos() = default;
  constexpr explicit Nanos(std::int64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(count_) * 1e-9; }
  [[nodiscard]] constexpr std::int64_t millis() const { return count_ / 1'000'000; }
  static constexpr Nanos max() { return Nanos(std::numeric_limits<std::int64_t>::max()); }
  static constexpr Nanos from_seconds(double seconds) {
    return Nanos(static_cast<std::int64_t>(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5)));
  }

  constexpr auto operator<=>(const Nanos&) const = default;
  constexpr Nanos& operator+=(Nanos other) { return count_ += other.count_, *this; }
  constexpr Nanos& operator-=(Nanos other) { return count_ -= other.count_, *this; }
  friend constexpr Nanos operator+(Nanos a, Nanos b) { return Nanos(a.count_ + b.count_); }
  friend constexpr Nanos operator-(Nanos a, Nanos b) { return Nanos(a.count_ - b.count_); }
  friend constexpr Nanos operator-(Nanos a) { return Nanos(-a.count_); }
  friend constexpr Nanos operator*(Nanos a, std::int64_t factor) { return Nanos(a.count_ * factor); }
  friend constexpr Nanos operator/(Nanos a, std::int64_t divisor) { return Nanos(a.count_ / divisor); }
  friend constexpr std::int64_t operator/(Nanos a, Nanos b) { return a.count_ / b.count_; }

 private:
  std::int64_t count_ = 0;
};

// A length or an offset, unsigned.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::uint64_t count() const { return count_; }
  static constexpr Bytes max() { return Bytes(std::numeric_limits<std::uint64_t>::max()); }

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { return count_ += other.count_, *this; }
  constexpr Bytes& operator-=(Bytes other) { return count_ -= other.count_, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t factor) { return Bytes(a.count_ * factor); }
  friend constexpr Bytes operator/(Bytes a, std::uint64_t divisor) { return Bytes(a.count_ / divisor); }
  friend constexpr std::uint64_t operator/(Bytes a, Bytes b) { return a.count_ / b.count_; }
  friend constexpr Bytes operator%(Bytes a, Bytes b) { return Bytes(a.count_ % b.count_); }

 private:
  std::uint64_t count_ = 0;
};

inline namespace literals {
constexpr Nanos operator""_ns(unsigned long long n) { return Nanos(static_cast<std::int64_t>(n)); }
constexpr Nanos operator""_us(unsigned long long n) { return Nanos(static_cast<std::int64_t>(n) * 1'000); }
constexpr Nanos operator""_ms(unsigned long long n) {
  return Nanos(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr Nanos operator""_s(unsigned long long n) {
  return Nanos(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(n); }
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(n << 10U); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20U); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30U); }
}  // namespace literals

// "1.5 MiB", "12.3 ms": for people, never parsed back.
std::string to_string(Bytes bytes);
std::string to_string(Nanos nanos);

}  // namespace tutti
