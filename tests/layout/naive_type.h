// A datatype as the MPI standard defines it, byte by byte: the reference for FlatType. And random ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "layout/flat_type.h"

namespace tutti {

struct NaiveType {
  std::vector<std::int64_t> places;  // of each byte, in data order
  std::int64_t lb = 0;
  std::int64_t ub = 0;

  [[nodiscard]] std::int64_t extent() const { return ub - lb; }
  [[nodiscard]] std::int64_t at(std::int64_t data) const {
    const auto size = static_cast<std::int64_t>(places.size());
    return places[static_cast<std::size_t>(data % size)] + data / size * extent();
  }
};

struct TypePair {
  FlatType flat;
  NaiveType naive;
};

// Blocks of types at displacements: what every constructor of MPI comes down to.
inline NaiveType naive_structure(const std::vector<std::int64_t>& lengths,
                                 const std::vector<std::int64_t>& at,
                                 const std::vector<const NaiveType*>& types) {
  NaiveType made;
  bool any = false;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (std::int64_t k = 0; k < lengths[i]; ++k) {
      const NaiveType& type = *types[i];
      const std::int64_t shift = at[i] + k * type.extent();
      for (const std::int64_t place : type.places) made.places.push_back(shift + place);
      made.lb = any ? std::min(made.lb, shift + type.lb) : shift + type.lb;
      made.ub = any ? std::max(made.ub, shift + type.ub) : shift + type.ub;
      any = true;
    }
  }
  return made;
}

inline TypePair pair_of_bytes(std::int64_t size) {
  TypePair made{FlatType::bytes(size), {}};
  for (std::int64_t i = 0; i < size; ++i) made.naive.places.push_back(i);
  made.naive.ub = size;
  return made;
}

struct RandomTypes {
  Random random;
  bool file = false;  // only what a view to be written through may have

  std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(random.below(bound)); }

  TypePair make(int depth) {
    if (depth == 0) return pair_of_bytes(1 + below(5));
    const TypePair child = make(depth - 1);
    const std::int64_t reach =
        std::max<std::int64_t>({child.naive.extent(), static_cast<std::int64_t>(child.naive.places.size()),
                                child.flat.true_extent()});
    switch (random.below(5)) {
      case 0: {
        const std::int64_t count = 1 + below(4);
        return {FlatType::contiguous(count, child.flat), naive_structure({count}, {0}, {&child.naive})};
      }
      case 1: {
        const std::int64_t count = 1 + below(4);
        const std::int64_t length = 1 + below(3);
        const std::int64_t gap = file ? below(3) * 4 : below(9) - 4;
        const std::int64_t stride = length * reach + gap;
        std::vector<std::int64_t> lengths;
        std::vector<std::int64_t> at;
        for (std::int64_t i = 0; i < count; ++i) {
          lengths.push_back(length);
          at.push_back(i * stride);
        }
        return {FlatType::vector(count, length, stride, child.flat),
                naive_structure(lengths, at, std::vector(lengths.size(), &child.naive))};
      }
      case 2:
      case 3:
        return listed(depth, child, random.chance(0.5));
      default: {
        const std::int64_t lb = file ? 0 : below(7) - 3;
        const std::int64_t extent = file ? child.flat.true_lb() + child.flat.true_extent() + below(6)
                                         : std::max<std::int64_t>(1, reach + below(9) - 4);
        TypePair made{FlatType::resized(lb, extent, child.flat), child.naive};
        made.naive.lb = lb;
        made.naive.ub = lb + extent;
        return made;
      }
    }
  }

  TypePair listed(int depth, const TypePair& child, bool mixed) {
    std::vector<TypePair> types;
    std::vector<FlatType> flats;
    std::vector<const NaiveType*> naives;
    std::vector<std::int64_t> lengths;
    std::vector<std::int64_t> at;
    std::int64_t place = file ? 0 : below(20) - 10;
    const std::int64_t count = 1 + below(5);
    for (std::int64_t i = 0; i < count; ++i) types.push_back(mixed ? make(depth - 1) : child);
    for (const TypePair& type : types) {
      lengths.push_back(below(4));
      flats.push_back(type.flat);
      naives.push_back(&type.naive);
      // A file's parts follow each other; memory's lie anywhere.
      if (file) place -= std::min<std::int64_t>(0, type.flat.true_lb());
      at.push_back(place);
      const std::int64_t reach = std::max(type.naive.extent(), type.flat.true_lb() + type.flat.true_extent());
      place += lengths.back() * reach + type.naive.extent() + below(3) * 5;
      if (!file && random.chance(0.3)) place -= 40;
    }
    if (std::all_of(lengths.begin(), lengths.end(), [](std::int64_t n) { return n == 0; })) lengths[0] = 1;
    return {mixed ? FlatType::structure(lengths, at, flats) : FlatType::indexed(lengths, at, child.flat),
            naive_structure(lengths, at, naives)};
  }

  // One that FileView::validate() takes.
  TypePair make_for_file(int depth) {
    file = true;
    for (;;) {
      TypePair made = make(depth);
      if (made.flat.extent() >= made.flat.true_lb() + made.flat.true_extent() && made.flat.true_lb() >= 0 &&
          made.flat.ascending()) {
        return made;
      }
    }
  }
};

}  // namespace tutti
