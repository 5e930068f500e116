// Shape: how a datatype is made, and naively which bytes it stands for. Knows neither MPI nor Tutti: what both make of
// the same shape is compared with this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exerciser {

using Offset = std::int64_t;

// A small generator of our own: the same numbers everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  Offset below(Offset bound) { return static_cast<Offset>(next() % static_cast<std::uint64_t>(bound)); }
  Offset between(Offset low, Offset high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

struct Shape {
  enum class Kind { element, contiguous, vector, indexed, structure, resized };
  Kind kind = Kind::element;
  Offset size = 1;                    // element: 1, 4 or 8 bytes
  Offset count = 1;                   // contiguous, vector
  Offset block = 1;                   // vector
  Offset stride = 0;                  // vector, in bytes
  std::vector<Offset> lengths;        // indexed, structure
  std::vector<Offset> displacements;  // in bytes
  Offset low = 0;                     // resized
  Offset extent = 0;
  std::vector<Shape> parts;  // one; of a structure as many as lengths
};

// The bytes of one instance, in the order of the type map.
struct Map {
  std::vector<Offset> places;
  Offset low = 0;
  Offset high = 0;
  [[nodiscard]] Offset size() const { return static_cast<Offset>(places.size()); }
  [[nodiscard]] Offset extent() const { return high - low; }
  // Of a byte of repetitions of it.
  [[nodiscard]] Offset at(Offset data) const {
    return data / size() * extent() + places[static_cast<std::size_t>(data % size())];
  }
};
Map map_of(const Shape& shape);

// "vector 3 x 2 every 24 of (element 4)", for messages.
std::string describe(const Shape& shape);

Shape element(Offset size);
Shape resized(Offset low, Offset extent, Shape part);
Shape indexed(std::vector<Offset> lengths, std::vector<Offset> displacements, Shape part);

// Made of elements of one size, no byte twice, also not in repetitions. Ascending: as the filetype of a view must be;
// otherwise blocks stand in any order and may begin before 0.
Shape random_shape(Dice& dice, int depth, Offset element_size, bool ascending);

}  // namespace exerciser
