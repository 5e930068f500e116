#include "mpi/named_types.h"

#include <array>
#include <cstddef>
#include <map>

namespace tutti::mpi {
namespace {

using Kind = Element::Kind;

struct Basic {
  Kind kind = Kind::natural;
  int external = 0;  // bytes in external32; 0: as here
  int repeat = 1;    // complex numbers and pairs are two
};

// Those that are more than natural numbers as long in external32 as here.
const std::map<MPI_Datatype, Basic>& basics() {
  static const std::map<MPI_Datatype, Basic> kBasics = {
      {MPI_SHORT, {Kind::integer}},
      {MPI_INT, {Kind::integer}},
      {MPI_LONG, {Kind::integer, 4}},
      {MPI_UNSIGNED_LONG, {Kind::natural, 4}},
      {MPI_LONG_LONG, {Kind::integer}},
      {MPI_SIGNED_CHAR, {Kind::integer}},
      {MPI_WCHAR, {Kind::natural, 2}},
      {MPI_INT8_T, {Kind::integer}},
      {MPI_INT16_T, {Kind::integer}},
      {MPI_INT32_T, {Kind::integer}},
      {MPI_INT64_T, {Kind::integer}},
      {MPI_AINT, {Kind::integer}},
      {MPI_COUNT, {Kind::integer}},
      {MPI_OFFSET, {Kind::integer}},
      {MPI_INTEGER, {Kind::integer}},
      {MPI_FLOAT, {Kind::real}},
      {MPI_DOUBLE, {Kind::real}},
      {MPI_REAL, {Kind::real}},
      {MPI_DOUBLE_PRECISION, {Kind::real}},
      {MPI_LONG_DOUBLE, {Kind::extended, 16}},
      {MPI_C_FLOAT_COMPLEX, {Kind::real, 0, 2}},
      {MPI_C_DOUBLE_COMPLEX, {Kind::real, 0, 2}},
      {MPI_C_LONG_DOUBLE_COMPLEX, {Kind::extended, 16, 2}},
      {MPI_COMPLEX, {Kind::real, 0, 2}},
      {MPI_DOUBLE_COMPLEX, {Kind::real, 0, 2}},
      {MPI_2INT, {Kind::integer, 0, 2}},
      {MPI_2INTEGER, {Kind::integer, 0, 2}},
      {MPI_2REAL, {Kind::real, 0, 2}},
      {MPI_2DOUBLE_PRECISION, {Kind::real, 0, 2}},
  };
  return kBasics;
}

// A value and an int, as the compiler lays them out.
template <typename T>
Result<FlatType> pair_type(MPI_Datatype value, Representation representation) {
  struct Pair {
    T value;
    int index;
  };
  auto first = named_type(value, representation);
  auto second = named_type(MPI_INT, representation);
  if (!first.ok() || !second.ok()) return first.ok() ? second : first;
  const bool native = representation == Representation::native;
  const std::array<std::int64_t, 2> lengths = {1, 1};
  const std::array<std::int64_t, 2> places = {
      0, native ? static_cast<std::int64_t>(offsetof(Pair, index)) : first->extent()};
  const std::array<FlatType, 2> types = {*first, *second};
  const FlatType both = FlatType::structure(lengths, places, types);
  return native ? FlatType::resized(0, static_cast<std::int64_t>(sizeof(Pair)), both) : both;
}

}  // namespace

Result<FlatType> named_type(MPI_Datatype type, Representation representation) {
  if (type == MPI_FLOAT_INT) return pair_type<float>(MPI_FLOAT, representation);
  if (type == MPI_DOUBLE_INT) return pair_type<double>(MPI_DOUBLE, representation);
  if (type == MPI_LONG_INT) return pair_type<long>(MPI_LONG, representation);
  if (type == MPI_SHORT_INT) return pair_type<short>(MPI_SHORT, representation);
  if (type == MPI_LONG_DOUBLE_INT) return pair_type<long double>(MPI_LONG_DOUBLE, representation);
  int size = 0;
  if (PMPI_Type_size(type, &size) != MPI_SUCCESS) return Status(Code::invalid, "a datatype without a size");
  if (size == 0) return FlatType::empty();
  const auto found = basics().find(type);
  const Basic basic = found != basics().end() ? found->second : Basic{};
  if (size / basic.repeat > 255) return Status(Code::invalid, "a predefined datatype of more than 255 bytes");
  Element element;
  element.size = static_cast<std::uint8_t>(size / basic.repeat);
  element.external = basic.external > 0 ? static_cast<std::uint8_t>(basic.external) : element.size;
  element.kind = basic.kind;
  if (representation == Representation::external32) {
    element.size = element.external;
    element.kind = Kind::natural;
  }
  return FlatType::contiguous(basic.repeat, FlatType::element(element));
}

}  // namespace tutti::mpi
