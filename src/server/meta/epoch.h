// Inode numbers carry an epoch in their upper bits. A restore from a backup begins a new one, so that no number that was
// given out after the backup is ever given out again: its objects may still be on the data servers. Pure.
#pragma once

#include <cstdint>

namespace tutti::meta {

inline constexpr unsigned kEpochShift = 40;
inline constexpr std::uint64_t kLastEpoch = (std::uint64_t{1} << (64 - kEpochShift)) - 1;

constexpr std::uint64_t epoch_of(std::uint64_t inode) { return inode >> kEpochShift; }
constexpr std::uint64_t first_inode(std::uint64_t epoch) { return (epoch << kEpochShift) + 1; }

}  // namespace tutti::meta
