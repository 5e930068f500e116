#include "parallel/array_types.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tutti {
namespace {

// The dimensions from the one that runs fastest to the slowest.
std::vector<std::size_t> fastest_first(std::size_t dimensions, ArrayOrder order) {
  std::vector<std::size_t> sequence(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i)
    sequence[i] = order == ArrayOrder::fortran ? i : dimensions - 1 - i;
  return sequence;
}

struct Part {
  std::int64_t start = 0;  // first element
  FlatType type;           // from there on
};

Part deal_blocks(const Distribution& dimension, std::int64_t place, const FlatType& row) {
  const std::int64_t fair = (dimension.size + dimension.processes - 1) / dimension.processes;
  const std::int64_t block = dimension.argument > 0 ? dimension.argument : fair;
  const std::int64_t start = std::min(block * place, dimension.size);
  return {start, FlatType::contiguous(std::min(block, dimension.size - start), row)};
}

Part deal_cyclically(const Distribution& dimension, std::int64_t place, const FlatType& row) {
  const std::int64_t block = std::max<std::int64_t>(dimension.argument, 1);
  const std::int64_t round = block * dimension.processes;
  const std::int64_t start = std::min(block * place, dimension.size);
  const std::int64_t left = dimension.size - start;
  const std::int64_t full = left / round + (left % round >= block ? 1 : 0);
  const std::int64_t tail = left % round >= block ? 0 : left % round;
  const std::array<FlatType, 2> types = {FlatType::vector(full, block, round * row.extent(), row),
                                         FlatType::contiguous(tail, row)};
  const std::array<std::int64_t, 2> lengths = {1, tail > 0 ? 1 : 0};
  const std::array<std::int64_t, 2> places = {0, full * round * row.extent()};
  return {start, FlatType::structure(lengths, places, types)};
}

Part deal(const Distribution& dimension, std::int64_t place, const FlatType& row) {
  switch (dimension.kind) {
    case Distribution::Kind::block:
      return deal_blocks(dimension, place, row);
    case Distribution::Kind::cyclic:
      return deal_cyclically(dimension, place, row);
    case Distribution::Kind::none:
      break;
  }
  return {0, FlatType::contiguous(dimension.size, row)};
}

}  // namespace

FlatType subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                  std::span<const std::int64_t> starts, ArrayOrder order, const FlatType& element) {
  FlatType row = element;
  for (const std::size_t i : fastest_first(sizes.size(), order)) {
    const std::int64_t stride = row.extent();
    const FlatType part = FlatType::shifted(starts[i] * stride, FlatType::contiguous(subsizes[i], row));
    row = FlatType::resized(0, sizes[i] * stride, part);
  }
  return row;
}

FlatType distributed_array(std::int64_t rank, std::span<const Distribution> dimensions, ArrayOrder order,
                           const FlatType& element) {
  std::vector<std::int64_t> places(dimensions.size());
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    places[i] = rank % dimensions[i].processes;
    rank /= dimensions[i].processes;
  }
  FlatType row = element;
  for (const std::size_t i : fastest_first(dimensions.size(), order)) {
    const std::int64_t stride = row.extent();
    const Part part = deal(dimensions[i], places[i], row);
    row =
        FlatType::resized(0, dimensions[i].size * stride, FlatType::shifted(part.start * stride, part.type));
  }
  return row;
}

}  // namespace tutti
