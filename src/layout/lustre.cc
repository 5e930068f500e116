#include "layout/lustre.h"

#include <cstdint>

namespace tutti {
namespace {

constexpr std::uint64_t kVersion1 = 0x0BD10BD0;
constexpr std::uint64_t kVersion3 = 0x0BD30BD0;
// Magic, pattern and the object's id come first.
constexpr std::size_t kStripeSize = 24;
constexpr std::size_t kStripeCount = 28;
constexpr std::size_t kHead = 32;

// The record is in the byte order of the host, which is little-endian wherever this runs.
std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i > 0; --i)
    number = number << 8U | std::to_integer<std::uint64_t>(bytes[at + i - 1]);
  return number;
}

}  // namespace

std::optional<Layout> lustre_layout(std::span<const std::byte> attribute) {
  if (attribute.size() < kHead) return std::nullopt;
  const std::uint64_t magic = number_at(attribute, 0, 4);
  if (magic != kVersion1 && magic != kVersion3) return std::nullopt;
  Layout layout;
  layout.stripe_size = Bytes(number_at(attribute, kStripeSize, 4));
  layout.stripe_count = layout.server_total =
      static_cast<std::uint32_t>(number_at(attribute, kStripeCount, 2));
  if (!layout.validate().ok()) return std::nullopt;
  return layout;
}

}  // namespace tutti
