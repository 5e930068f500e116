// Crc32c: the Castagnoli polynomial, by the processor's instruction where there is one.
//
// Here it begins with 0 and ends as it is, without the usual inversions, which makes it linear: leading zeros do not
// count, and the sum of a block is the XOR of what its pieces contribute, in any order. A piece contributes its own sum,
// moved by the bytes that follow it: shift(crc32c(piece), bytes after it). A block of zeros has the sum 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

// Of the bytes that follow on those with the sum `before`.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);
// The sum of what `sum` belongs to followed by so many zeros; fewer than 2^24.
std::uint32_t crc32c_shift(std::uint32_t sum, std::uint64_t zeros);

namespace detail {
// Without the instruction: for processors that have none, and for tests.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before);
}  // namespace detail

}  // namespace tutti
