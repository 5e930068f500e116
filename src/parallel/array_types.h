// Distributed arrays as types: what MPI_Type_create_subarray and MPI_Type_create_darray mean. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "layout/flat_type.h"

namespace tutti {

// Whether the last index of an array runs fastest (C), or the first (Fortran).
enum class ArrayOrder : std::uint8_t { c, fortran };

// The part of an array of `sizes` elements that begins at `starts` and has `subsizes` elements; the extent is that of
// the whole array. All lists are equally long, and the part lies inside the array.
FlatType subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                  std::span<const std::int64_t> starts, ArrayOrder order, const FlatType& element);

// How one dimension of an array is dealt to processes.
struct Distribution {
  enum class Kind : std::uint8_t { none, block, cyclic };
  std::int64_t size = 0;  // of the array in this dimension
  Kind kind = Kind::none;
  std::int64_t argument = 0;   // size of a block; 0: the standard's default
  std::int64_t processes = 1;  // of the grid in this dimension
};

// The part of a distributed array that belongs to a rank of the process grid; ranks number the grid in C order,
// whatever the order of the array.
FlatType distributed_array(std::int64_t rank, std::span<const Distribution> dimensions, ArrayOrder order,
                           const FlatType& element);

}  // namespace tutti
