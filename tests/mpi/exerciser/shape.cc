#include "shape.h"

#include <algorithm>
#include <utility>

namespace exerciser {
namespace {

// Collects instances of parts at their places; the bounds are those of MPI: of all instances, wherever they lie.
class Collector {
 public:
  void put(const Map& part, Offset place) {
    for (const Offset each : part.places) map_.places.push_back(place + each);
    if (!any_) map_.low = place + part.low, map_.high = place + part.high;
    map_.low = std::min(map_.low, place + part.low);
    map_.high = std::max(map_.high, place + part.high);
    any_ = true;
  }
  void put(const Map& part, Offset place, Offset count) {
    for (Offset i = 0; i < count; ++i) put(part, place + i * part.extent());
  }
  Map map() { return std::move(map_); }

 private:
  Map map_;
  bool any_ = false;
};

}  // namespace

Map map_of(const Shape& shape) {
  Collector all;
  std::vector<Map> parts;
  for (const Shape& each : shape.parts) parts.push_back(map_of(each));
  switch (shape.kind) {
    case Shape::Kind::element: {
      Map map;
      for (Offset i = 0; i < shape.size; ++i) map.places.push_back(i);
      map.high = shape.size;
      return map;
    }
    case Shape::Kind::contiguous:
      all.put(parts[0], 0, shape.count);
      break;
    case Shape::Kind::vector:
      for (Offset i = 0; i < shape.count; ++i) all.put(parts[0], i * shape.stride, shape.block);
      break;
    case Shape::Kind::indexed:
    case Shape::Kind::structure:
      for (std::size_t i = 0; i < shape.lengths.size(); ++i)
        all.put(parts[shape.kind == Shape::Kind::indexed ? 0 : i], shape.displacements[i], shape.lengths[i]);
      break;
    case Shape::Kind::resized: {
      Map map = std::move(parts[0]);
      map.low = shape.low;
      map.high = shape.low + shape.extent;
      return map;
    }
  }
  return all.map();
}

std::string describe(const Shape& shape) {
  std::string text;
  switch (shape.kind) {
    case Shape::Kind::element:
      return "element " + std::to_string(shape.size);
    case Shape::Kind::contiguous:
      text = "contiguous " + std::to_string(shape.count);
      break;
    case Shape::Kind::vector:
      text = "vector " + std::to_string(shape.count) + " x " + std::to_string(shape.block) + " every " +
             std::to_string(shape.stride);
      break;
    case Shape::Kind::indexed:
      text = "indexed";
      break;
    case Shape::Kind::structure:
      text = "structure";
      break;
    case Shape::Kind::resized:
      text = "resized " + std::to_string(shape.low) + " to " + std::to_string(shape.low + shape.extent);
      break;
  }
  for (std::size_t i = 0; i < shape.lengths.size(); ++i)
    text += " " + std::to_string(shape.lengths[i]) + " at " + std::to_string(shape.displacements[i]);
  text += " of (";
  for (const Shape& part : shape.parts) text += (&part == &shape.parts.front() ? "" : ", ") + describe(part);
  return text + ")";
}

Shape element(Offset size) {
  Shape shape;
  shape.size = size;
  return shape;
}

Shape resized(Offset low, Offset extent, Shape part) {
  Shape shape;
  shape.kind = Shape::Kind::resized;
  shape.low = low;
  shape.extent = extent;
  shape.parts.push_back(std::move(part));
  return shape;
}

Shape indexed(std::vector<Offset> lengths, std::vector<Offset> displacements, Shape part) {
  Shape shape;
  shape.kind = Shape::Kind::indexed;
  shape.lengths = std::move(lengths);
  shape.displacements = std::move(displacements);
  shape.parts.push_back(std::move(part));
  return shape;
}

namespace {

Offset gap(Dice& dice, Offset unit) { return dice.chance(50) ? 0 : unit * dice.between(1, 5); }

// Blocks of different lengths, one behind the other with gaps; in any order unless they ascend.
Shape blocks(Dice& dice, int depth, Offset unit, bool ascending, bool mixed) {
  Shape shape;
  shape.kind = mixed ? Shape::Kind::structure : Shape::Kind::indexed;
  if (!mixed) shape.parts.push_back(random_shape(dice, depth - 1, unit, ascending));
  Offset end = ascending ? 0 : -unit * dice.below(4);
  const Offset count = dice.between(1, 4);
  for (Offset i = 0; i < count; ++i) {
    if (mixed) shape.parts.push_back(random_shape(dice, depth - 1, unit, ascending));
    const Map part = map_of(shape.parts.back());
    const Offset length = dice.between(i == 0 ? 1 : 0, 3);
    end += gap(dice, unit);
    shape.lengths.push_back(length);
    shape.displacements.push_back(end - part.low);
    end += length * part.extent();
  }
  for (std::size_t i = shape.lengths.size(); !ascending && i > 1; --i) {
    const auto other = static_cast<std::size_t>(dice.below(static_cast<Offset>(i)));
    std::swap(shape.lengths[i - 1], shape.lengths[other]);
    std::swap(shape.displacements[i - 1], shape.displacements[other]);
    if (mixed) std::swap(shape.parts[i - 1], shape.parts[other]);
  }
  if (!mixed) return shape;
  // The upper bound of a structure is rounded up for its alignment: what it is then differs from machine to machine.
  const Map map = map_of(shape);
  return resized(map.low, map.extent() + gap(dice, unit), std::move(shape));
}

}  // namespace

Shape random_shape(Dice& dice, int depth, Offset element_size, bool ascending) {
  if (depth <= 0) return element(element_size);
  Shape shape;
  switch (dice.below(5)) {
    case 0:
      shape.kind = Shape::Kind::contiguous;
      shape.count = dice.between(1, 5);
      shape.parts.push_back(random_shape(dice, depth - 1, element_size, ascending));
      return shape;
    case 1: {
      shape.kind = Shape::Kind::vector;
      shape.count = dice.between(1, 5);
      shape.block = dice.between(1, 3);
      shape.parts.push_back(random_shape(dice, depth - 1, element_size, ascending));
      shape.stride = map_of(shape.parts[0]).extent() * shape.block + gap(dice, element_size);
      return shape;
    }
    case 2:
      return blocks(dice, depth, element_size, ascending, false);
    case 3:
      return blocks(dice, depth, element_size, ascending, true);
    default: {
      Shape part = random_shape(dice, depth - 1, element_size, ascending);
      const Map map = map_of(part);
      const Offset before = ascending ? 0 : gap(dice, element_size);
      return resized(map.low - before, map.extent() + before + gap(dice, element_size), std::move(part));
    }
  }
}

}  // namespace exerciser
