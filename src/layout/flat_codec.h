// The numbers of an encoded FlatType. For flat_codec.cc and flat_scan.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::flat {

inline constexpr int kDeepest = 64;
inline constexpr std::int64_t kLargest = std::int64_t{1} << 62;

// Reads variable-length integers; 0 and no longer good when they end early.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  std::int64_t next() {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = std::to_integer<std::uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      bits |= (byte & 0x7fU) << shift;
      // Zigzag: small numbers of either sign are short.
      if (byte < 0x80) return static_cast<std::int64_t>(bits >> 1U) ^ -static_cast<std::int64_t>(bits & 1U);
    }
    good_ = false;
    return 0;
  }
  // Of a list: a part takes at least two bytes, so a larger count is a lie.
  [[nodiscard]] bool plausible(std::int64_t count) const {
    return count >= 1 && static_cast<std::uint64_t>(count) <= bytes_.size() / 2 + 1;
  }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

}  // namespace tutti::flat
