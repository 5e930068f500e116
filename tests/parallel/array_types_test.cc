// Subarrays and distributed arrays against the standard's definition, element by element.
#include "parallel/array_types.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "layout/type_cursor.h"

namespace tutti {
namespace {

using Places = std::vector<std::int64_t>;

// The offsets of all elements of `bytes` bytes, in data order.
Places places_of(const FlatType& type, std::int64_t bytes) {
  Places places;
  TypeCursor cursor(type, 0, 1);
  for (TypeRun run = cursor.next(bytes); run.length > 0; run = cursor.next(bytes)) {
    EXPECT_EQ(run.length, bytes);
    places.push_back(run.offset / bytes);
  }
  return places;
}

// Calls `visit` with each index of the array in the order of memory, and its place.
template <typename Visit>
void each_element(const Places& sizes, ArrayOrder order, const Visit& visit) {
  std::int64_t total = 1;
  for (const std::int64_t size : sizes) total *= size;
  Places index(sizes.size());
  for (std::int64_t place = 0; place < total; ++place) {
    std::int64_t rest = place;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t i = order == ArrayOrder::fortran ? k : sizes.size() - 1 - k;
      index[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    visit(index, place);
  }
}

TEST(Subarray, HasTheElementsOfTheBoxInBothOrders) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const std::size_t dimensions = 1 + random.below(4);
    Places sizes, subsizes, starts;
    for (std::size_t i = 0; i < dimensions; ++i) {
      sizes.push_back(static_cast<std::int64_t>(1 + random.below(5)));
      subsizes.push_back(static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(sizes[i]))));
      starts.push_back(
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(sizes[i] - subsizes[i] + 1))));
    }
    const ArrayOrder order = random.chance(0.5) ? ArrayOrder::c : ArrayOrder::fortran;
    Places expected;
    std::int64_t total = 1;
    each_element(sizes, order, [&](const Places& index, std::int64_t place) {
      total = place + 1;
      for (std::size_t i = 0; i < dimensions; ++i) {
        if (index[i] < starts[i] || index[i] >= starts[i] + subsizes[i]) return;
      }
      expected.push_back(place);
    });
    const FlatType type = subarray(sizes, subsizes, starts, order, FlatType::bytes(4));
    EXPECT_EQ(places_of(type, 4), expected);
    EXPECT_EQ(type.lb(), 0);
    EXPECT_EQ(type.extent(), total * 4);
  }
}

bool owns(const Distribution& dimension, std::int64_t place, std::int64_t index) {
  const std::int64_t fair = (dimension.size + dimension.processes - 1) / dimension.processes;
  switch (dimension.kind) {
    case Distribution::Kind::none:
      return true;
    case Distribution::Kind::block:
      return index / (dimension.argument > 0 ? dimension.argument : fair) == place;
    case Distribution::Kind::cyclic:
      return index / std::max<std::int64_t>(dimension.argument, 1) % dimension.processes == place;
  }
  return false;
}

Distribution random_dimension(Random& random) {
  Distribution made;
  made.size = static_cast<std::int64_t>(1 + random.below(9));
  made.kind = static_cast<Distribution::Kind>(random.below(3));
  if (made.kind == Distribution::Kind::none) return made;
  made.processes = static_cast<std::int64_t>(1 + random.below(3));
  if (random.chance(0.5)) return made;
  const std::int64_t fair = (made.size + made.processes - 1) / made.processes;
  made.argument = made.kind == Distribution::Kind::block ? fair + static_cast<std::int64_t>(random.below(3))
                                                         : static_cast<std::int64_t>(1 + random.below(4));
  return made;
}

TEST(DistributedArray, EveryRankHasItsElementsInMemoryOrder) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<Distribution> dimensions;
    Places sizes;
    std::int64_t ranks = 1;
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
      dimensions.push_back(random_dimension(random));
      sizes.push_back(dimensions.back().size);
      ranks *= dimensions.back().processes;
    }
    const ArrayOrder order = random.chance(0.5) ? ArrayOrder::c : ArrayOrder::fortran;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      Places grid(dimensions.size());
      std::int64_t rest = rank;
      for (std::size_t i = dimensions.size(); i-- > 0;) {
        grid[i] = rest % dimensions[i].processes;
        rest /= dimensions[i].processes;
      }
      Places expected;
      std::int64_t total = 0;
      each_element(sizes, order, [&](const Places& index, std::int64_t place) {
        total = place + 1;
        for (std::size_t i = 0; i < dimensions.size(); ++i) {
          if (!owns(dimensions[i], grid[i], index[i])) return;
        }
        expected.push_back(place);
      });
      const FlatType type = distributed_array(rank, dimensions, order, FlatType::bytes(8));
      EXPECT_EQ(places_of(type, 8), expected);
      EXPECT_EQ(type.extent(), total * 8);
    }
  }
}

}  // namespace
}  // namespace tutti
