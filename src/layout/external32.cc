#include "layout/external32.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "layout/type_cursor.h"

namespace tutti {
namespace {

using Buffer = std::array<std::byte, 256>;

// The machine's order or back: the same for both ways.
void copy_swapped(const std::byte* from, std::byte* to, std::size_t size) {
  if constexpr (std::endian::native == std::endian::big) {
    std::memcpy(to, from, size);
  } else {
    std::reverse_copy(from, from + size, to);
  }
}

// x87's 80 bits and IEEE's 128 have the same exponent; the former writes the leading one of the fraction.
constexpr bool kExtendedIsX87 = sizeof(long double) == 16 && std::numeric_limits<long double>::digits == 64;

void extended_to_quad(const std::byte* from, std::byte* big) {
  if constexpr (!kExtendedIsX87) return copy_swapped(from, big, 16);
  std::uint64_t fraction = 0;
  std::uint16_t head = 0;
  std::memcpy(&fraction, from, sizeof(fraction));
  std::memcpy(&head, from + sizeof(fraction), sizeof(head));
  fraction <<= 1U;  // without the leading one: 63 bits at the top
  std::array<std::byte, 16> little{};
  const std::uint64_t high = (std::uint64_t{head} << 48U) | (fraction >> 16U);
  const std::uint64_t low = fraction << 48U;
  std::memcpy(little.data(), &low, sizeof(low));
  std::memcpy(little.data() + 8, &high, sizeof(high));
  copy_swapped(little.data(), big, 16);
}

void quad_to_extended(const std::byte* big, std::byte* to) {
  if constexpr (!kExtendedIsX87) return copy_swapped(big, to, 16);
  std::array<std::byte, 16> little{};
  copy_swapped(big, little.data(), 16);
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::memcpy(&low, little.data(), sizeof(low));
  std::memcpy(&high, little.data() + 8, sizeof(high));
  const auto head = static_cast<std::uint16_t>(high >> 48U);
  std::uint64_t fraction = ((high << 16U) | (low >> 48U)) >> 1U;
  if ((head & 0x7fffU) != 0) fraction |= std::uint64_t{1} << 63U;
  std::memset(to, 0, 16);
  std::memcpy(to, &fraction, sizeof(fraction));
  std::memcpy(to + sizeof(fraction), &head, sizeof(head));
}

// Big-endian `from` of one size to big-endian `to` of another. False if the number does not fit.
bool resize_number(const std::byte* from, std::size_t size, std::byte* to, std::size_t wanted,
                   bool is_signed) {
  const bool negative = is_signed && (from[0] & std::byte{0x80}) != std::byte{0};
  const std::byte fill = negative ? std::byte{0xff} : std::byte{0};
  if (wanted >= size) {
    std::fill_n(to, wanted - size, fill);
    std::memcpy(to + (wanted - size), from, size);
    return true;
  }
  std::memcpy(to, from + (size - wanted), wanted);
  const bool sign_kept = !is_signed || ((to[0] & std::byte{0x80}) != std::byte{0}) == negative;
  return sign_kept && std::all_of(from, from + (size - wanted), [&](std::byte each) { return each == fill; });
}

bool to_external(const Element& element, const std::byte* from, std::byte* to) {
  if (element.kind == Element::Kind::extended) return extended_to_quad(from, to), true;
  if (element.size == element.external) return copy_swapped(from, to, element.size), true;
  Buffer big;
  copy_swapped(from, big.data(), element.size);
  return resize_number(big.data(), element.size, to, element.external,
                       element.kind == Element::Kind::integer);
}

bool from_external(const Element& element, const std::byte* from, std::byte* to) {
  if (element.kind == Element::Kind::extended) return quad_to_extended(from, to), true;
  if (element.size == element.external) return copy_swapped(from, to, element.size), true;
  Buffer big;
  const bool fits =
      resize_number(from, element.external, big.data(), element.size, element.kind == Element::Kind::integer);
  copy_swapped(big.data(), to, element.size);
  return fits;
}

// Takes the elements' memory from a cursor, element by element; a run holds whole elements, mostly many.
class ElementPlaces {
 public:
  ElementPlaces(std::byte* base, const FlatType& type, std::int64_t count)
      : base_(base), cursor_(type, 0, count) {}
  std::byte* next(std::int64_t size) {
    if (run_.length == 0) run_ = cursor_.next(TypeCursor::kUnbounded);
    std::byte* place = base_ + run_.offset;
    run_.offset += size;
    run_.length -= size;
    return place;
  }

 private:
  std::byte* base_;
  TypeCursor cursor_;
  TypeRun run_;
};

// How many bytes of one measure correspond to `bytes` of the other.
std::int64_t corresponding(const FlatType& type, std::int64_t bytes, bool external) {
  const std::int64_t whole = external ? type.external_size() : type.size();
  const std::int64_t other = external ? type.size() : type.external_size();
  if (whole == 0) return 0;
  std::int64_t sum = bytes / whole * other;
  std::int64_t left = bytes % whole;
  if (left == 0) return sum;
  type.each_element_run([&](const ElementRun& run) {
    const std::int64_t own = external ? run.element.external : run.element.size;
    const std::int64_t count = std::min(run.count, left / own);
    sum += count * (external ? run.element.size : run.element.external);
    left = count < run.count ? 0 : left - count * own;
  });
  return sum;
}

}  // namespace

std::int64_t to_external_bytes(const FlatType& type, std::int64_t bytes) {
  return corresponding(type, bytes, false);
}

std::int64_t from_external_bytes(const FlatType& type, std::int64_t external_bytes) {
  return corresponding(type, external_bytes, true);
}

Status pack_external32(const std::byte* base, const FlatType& type, std::int64_t count,
                       std::span<std::byte> into) {
  ElementPlaces places(const_cast<std::byte*>(base), type, count);  // only read
  std::byte* to = into.data();
  bool fits = true;
  for (std::int64_t i = 0; i < count; ++i) {
    type.each_element_run([&](const ElementRun& run) {
      for (std::int64_t k = 0; k < run.count; ++k) {
        fits = to_external(run.element, places.next(run.element.size), to) && fits;
        to += run.element.external;
      }
    });
  }
  if (fits) return {};
  return {Code::too_large,
          "a number does not fit its size in external32: use a smaller number or another type"};
}

Status unpack_external32(std::span<const std::byte> from, std::byte* base, const FlatType& type,
                         std::int64_t count) {
  ElementPlaces places(base, type, count);
  bool fits = true;
  for (std::int64_t i = 0; i < count && !from.empty(); ++i) {
    type.each_element_run([&](const ElementRun& run) {
      for (std::int64_t k = 0; k < run.count; ++k) {
        if (from.size() < run.element.external) return void(from = {});
        fits = from_external(run.element, from.data(), places.next(run.element.size)) && fits;
        from = from.subspan(run.element.external);
      }
    });
  }
  if (fits) return {};
  return {Code::too_large, "a number of the file does not fit the type in memory"};
}

}  // namespace tutti
