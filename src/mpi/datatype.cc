#include "mpi/datatype.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "mpi/errors.h"
#include "mpi/named_types.h"
#include "parallel/array_types.h"

namespace tutti::mpi {
namespace {

using Numbers = std::vector<std::int64_t>;

// What a datatype was made from, with all numbers as 64 bits.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  Numbers integers;
  Numbers addresses;
  Numbers large;  // counts and addresses of types made by the large-count functions
  std::vector<MPI_Datatype> types;

  ~Contents() {
    for (MPI_Datatype& type : types) {
      if (!is_named(type)) PMPI_Type_free(&type);
    }
  }
  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
};

// Hands out the numbers of Contents in the order of the constructor's arguments.
class Arguments {
 public:
  explicit Arguments(const Contents& contents) : contents_(contents), large_(!contents.large.empty()) {}
  std::int64_t integer() { return contents_.integers.at(integer_++); }
  std::int64_t count() { return large_ ? contents_.large.at(large_at_++) : integer(); }
  std::int64_t address() {
    return large_ ? contents_.large.at(large_at_++) : contents_.addresses.at(address_++);
  }
  Numbers integers(std::int64_t n) { return take(n, &Arguments::integer); }
  Numbers counts(std::int64_t n) { return take(n, &Arguments::count); }
  Numbers addresses(std::int64_t n) { return take(n, &Arguments::address); }

 private:
  Numbers take(std::int64_t n, std::int64_t (Arguments::*next)()) {
    Numbers numbers(static_cast<std::size_t>(n));
    for (std::int64_t& each : numbers) each = (this->*next)();
    return numbers;
  }
  const Contents& contents_;
  bool large_;
  std::size_t integer_ = 0, address_ = 0, large_at_ = 0;
};

template <typename T>
Numbers widened(const std::vector<T>& numbers) {
  return Numbers(numbers.begin(), numbers.end());
}

#if MPI_VERSION >= 4
Status read_contents(MPI_Datatype type, Contents& contents) {
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
  int error = PMPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &contents.combiner);
  if (error != MPI_SUCCESS || contents.combiner == MPI_COMBINER_NAMED)
    return status_of(error, "look at a datatype");
  std::vector<int> integer_list(static_cast<std::size_t>(integers));
  std::vector<MPI_Aint> address_list(static_cast<std::size_t>(addresses));
  std::vector<MPI_Count> large_list(static_cast<std::size_t>(large));
  contents.types.assign(static_cast<std::size_t>(types), MPI_DATATYPE_NULL);
  error = PMPI_Type_get_contents_c(type, integers, addresses, large, types, integer_list.data(),
                                   address_list.data(), large_list.data(), contents.types.data());
  if (error != MPI_SUCCESS) contents.types.clear();
  contents.large = widened(large_list);
#else
Status read_contents(MPI_Datatype type, Contents& contents) {
  int integers = 0, addresses = 0, types = 0;
  int error = PMPI_Type_get_envelope(type, &integers, &addresses, &types, &contents.combiner);
  if (error != MPI_SUCCESS || contents.combiner == MPI_COMBINER_NAMED)
    return status_of(error, "look at a datatype");
  std::vector<int> integer_list(static_cast<std::size_t>(integers));
  std::vector<MPI_Aint> address_list(static_cast<std::size_t>(addresses));
  contents.types.assign(static_cast<std::size_t>(types), MPI_DATATYPE_NULL);
  error = PMPI_Type_get_contents(type, integers, addresses, types, integer_list.data(), address_list.data(),
                                 contents.types.data());
  if (error != MPI_SUCCESS) contents.types.clear();
#endif
  contents.integers = widened(integer_list);
  contents.addresses = widened(address_list);
  return status_of(error, "look at a datatype");
}

class Flattener {
 public:
  explicit Flattener(Representation representation) : representation_(representation) {}

  Result<FlatType> flatten(MPI_Datatype type) {
    Contents contents;
    if (Status read = read_contents(type, contents); !read.ok()) return read;
    if (contents.combiner == MPI_COMBINER_NAMED || contents.types.empty())
      return named_type(type, representation_);
    std::vector<FlatType> parts;
    for (MPI_Datatype each : contents.types) {
      auto part = flatten(each);
      if (!part.ok()) return part;
      parts.push_back(*std::move(part));
    }
    auto flat = combine(contents, parts);
    if (!flat.ok()) return flat;
    return representation_ == Representation::native ? as_declared(type, *std::move(flat)) : flat;
  }

 private:
  // The library knows best about bounds: a structure is padded as the compiler would do.
  static FlatType as_declared(MPI_Datatype type, FlatType flat) {
    MPI_Count lb = 0, extent = 0;
    if (PMPI_Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS) return flat;
    return lb == flat.lb() && extent == flat.extent() ? flat : FlatType::resized(lb, extent, flat);
  }

  static Result<FlatType> combine(const Contents& contents, std::span<const FlatType> parts) {
    Arguments arguments(contents);
    const FlatType& part = parts.front();
    switch (contents.combiner) {
      case MPI_COMBINER_DUP:
        return part;
      case MPI_COMBINER_CONTIGUOUS:
        return FlatType::contiguous(arguments.count(), part);
      case MPI_COMBINER_VECTOR: {
        const std::int64_t count = arguments.count();
        const std::int64_t length = arguments.count();
        return FlatType::vector(count, length, arguments.count() * part.extent(), part);
      }
      case MPI_COMBINER_HVECTOR: {
        const std::int64_t count = arguments.count();
        const std::int64_t length = arguments.count();
        return FlatType::vector(count, length, arguments.address(), part);
      }
      case MPI_COMBINER_RESIZED: {
        const std::int64_t lb = arguments.address();
        return FlatType::resized(lb, arguments.address(), part);
      }
      case MPI_COMBINER_SUBARRAY:
        return combine_subarray(contents, part);
      case MPI_COMBINER_DARRAY:
        return combine_darray(contents, part);
      default:
        return combine_list(contents, parts);
    }
  }

  static Result<FlatType> combine_list(const Contents& contents, std::span<const FlatType> parts) {
    Arguments arguments(contents);
    const FlatType& part = parts.front();
    const auto in_bytes = [&part](Numbers places) {
      for (std::int64_t& each : places) each *= part.extent();
      return places;
    };
    switch (contents.combiner) {
      case MPI_COMBINER_INDEXED: {
        const std::int64_t count = arguments.count();
        const Numbers lengths = arguments.counts(count);
        return FlatType::indexed(lengths, in_bytes(arguments.counts(count)), part);
      }
      case MPI_COMBINER_HINDEXED: {
        const std::int64_t count = arguments.count();
        const Numbers lengths = arguments.counts(count);
        return FlatType::indexed(lengths, arguments.addresses(count), part);
      }
      case MPI_COMBINER_INDEXED_BLOCK: {
        const std::int64_t count = arguments.count();
        const Numbers lengths(static_cast<std::size_t>(count), arguments.count());
        return FlatType::indexed(lengths, in_bytes(arguments.counts(count)), part);
      }
      case MPI_COMBINER_HINDEXED_BLOCK: {
        const std::int64_t count = arguments.count();
        const Numbers lengths(static_cast<std::size_t>(count), arguments.count());
        return FlatType::indexed(lengths, arguments.addresses(count), part);
      }
      case MPI_COMBINER_STRUCT: {
        const std::int64_t count = arguments.count();
        const Numbers lengths = arguments.counts(count);
        return FlatType::structure(lengths, arguments.addresses(count), parts);
      }
      default:
        break;
    }
    return Status(Code::invalid, fmt::format("a datatype made in an unknown way ({})", contents.combiner));
  }

  static Result<FlatType> combine_subarray(const Contents& contents, const FlatType& part) {
    Arguments arguments(contents);
    const std::int64_t dimensions = arguments.integer();
    const Numbers sizes = arguments.counts(dimensions);
    const Numbers subsizes = arguments.counts(dimensions);
    const Numbers starts = arguments.counts(dimensions);
    return subarray(sizes, subsizes, starts, order(arguments.integer()), part);
  }

  static Result<FlatType> combine_darray(const Contents& contents, const FlatType& part) {
    Arguments arguments(contents);
    arguments.integer();  // size of the grid
    const std::int64_t rank = arguments.integer();
    const std::int64_t dimensions = arguments.integer();
    const Numbers sizes = arguments.counts(dimensions);
    const Numbers kinds = arguments.integers(dimensions);
    const Numbers blocks = arguments.integers(dimensions);
    const Numbers processes = arguments.integers(dimensions);
    std::vector<Distribution> dealt(sizes.size());
    for (std::size_t i = 0; i < dealt.size(); ++i) {
      dealt[i].size = sizes[i];
      dealt[i].processes = processes[i];
      dealt[i].argument = blocks[i] == MPI_DISTRIBUTE_DFLT_DARG ? 0 : blocks[i];
      if (kinds[i] == MPI_DISTRIBUTE_BLOCK) dealt[i].kind = Distribution::Kind::block;
      if (kinds[i] == MPI_DISTRIBUTE_CYCLIC) dealt[i].kind = Distribution::Kind::cyclic;
    }
    return distributed_array(rank, dealt, order(arguments.integer()), part);
  }

  static ArrayOrder order(std::int64_t value) {
    return value == MPI_ORDER_FORTRAN ? ArrayOrder::fortran : ArrayOrder::c;
  }

  Representation representation_;
};

// What is kept at a datatype.
struct Kept {
  std::array<std::optional<FlatType>, 2> types;
};

int drop(MPI_Datatype /*type*/, int /*key*/, void* value, void* /*extra*/) {
  delete static_cast<Kept*>(value);
  return MPI_SUCCESS;
}

}  // namespace

Datatypes::Datatypes() { PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &drop, &key_, nullptr); }

void Datatypes::release() {
  if (key_ != MPI_KEYVAL_INVALID) PMPI_Type_free_keyval(&key_);
}

Result<FlatType> Datatypes::flatten(MPI_Datatype type, Representation representation) {
  if (type == MPI_DATATYPE_NULL) return Status(Code::invalid, "MPI_DATATYPE_NULL");
  void* value = nullptr;
  int there = 0;
  PMPI_Type_get_attr(type, key_, static_cast<void*>(&value), &there);
  auto* kept = there != 0 ? static_cast<Kept*>(value) : nullptr;
  const auto slot = static_cast<std::size_t>(representation);
  if (kept != nullptr && kept->types[slot]) return *kept->types[slot];
  auto flat = Flattener(representation).flatten(type);
  if (!flat.ok()) return flat;
  if (kept == nullptr) {
    kept = new Kept;
    if (PMPI_Type_set_attr(type, key_, kept) != MPI_SUCCESS) {
      delete kept;
      return flat;
    }
  }
  kept->types[slot] = *flat;
  return flat;
}

bool is_named(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  MPI_Count large_integers = 0, large_addresses = 0, large = 0, large_types = 0;
  PMPI_Type_get_envelope_c(type, &large_integers, &large_addresses, &large, &large_types, &combiner);
  static_cast<void>(integers + addresses + types);
#else
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
  // Those of the F90 functions cannot be freed either.
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
         combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
}

}  // namespace tutti::mpi
