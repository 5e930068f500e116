// FlatType: the bytes that an MPI datatype touches, in the order of its type map. Pure.
//
// A FlatType is immutable and shares its tree, so that a copy costs a few words. It simplifies itself when it
// is made: runs that touch are one run, blocks at equal distances are a count and a stride. A vector of ten
// million blocks, nested or not, is a few words; only blocks without rule are listed, at 24 bytes each or
// less.
//
// Displacements are in bytes from where the type is put, and may be negative or descending. Sizes and extents
// are those of the MPI standard. The makers take arguments that the MPI library has checked: counts and block
// lengths are not negative, lists are equally long, and no product of them passes 63 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"

namespace tutti {

// A basic element as external32 has to know it.
struct Element {
  enum class Kind : std::uint8_t {
    integer,   // two's complement; widened with its sign
    natural,   // unsigned; also characters and logicals
    real,      // IEEE; the same size here and there
    extended,  // the machine's long double; IEEE quadruple in the file
  };
  std::uint8_t size = 1;      // here
  std::uint8_t external = 1;  // in external32
  Kind kind = Kind::natural;
  auto operator<=>(const Element&) const = default;
};

// So many elements of one sort, one behind the other in the order of the type map.
struct ElementRun {
  Element element;
  std::int64_t count = 0;
  auto operator<=>(const ElementRun&) const = default;
};

namespace flat {
struct Node;
struct Signature;
using NodePointer = std::shared_ptr<const Node>;
using SignaturePointer = std::shared_ptr<const Signature>;

// A tree and where it lies; no tree: no data.
struct Placed {
  NodePointer node;
  std::int64_t shift = 0;
};
}  // namespace flat

// What is known of an encoded type before it is made.
struct FlatSummary {
  std::int64_t size = 0;
  std::int64_t extent = 0;
  std::int64_t low = 0;   // true_lb()
  std::int64_t high = 0;  // behind its highest byte
  bool ascending = true;  // as of FlatType
  bool sorted = true;
  std::size_t memory = 0;  // that it takes at most while it is made, and afterwards
};

class FlatType {
 public:
  // The type of one byte.
  FlatType();

  // A basic element of `size` bytes, as long in external32; its bytes are swapped there as one number.
  static FlatType bytes(std::int64_t size);
  static FlatType element(Element element);
  // The empty type of the MPI standard: no bytes, extent 0.
  static FlatType empty();
  static FlatType contiguous(std::int64_t count, const FlatType& type);
  static FlatType vector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                         const FlatType& type);
  static FlatType indexed(std::span<const std::int64_t> block_lengths,
                          std::span<const std::int64_t> displacements, const FlatType& type);
  static FlatType structure(std::span<const std::int64_t> block_lengths,
                            std::span<const std::int64_t> displacements, std::span<const FlatType> types);
  static FlatType resized(std::int64_t lb, std::int64_t extent, const FlatType& type);
  // The same type `bytes` further; lb moves too.
  static FlatType shifted(std::int64_t bytes, const FlatType& type);

  [[nodiscard]] std::int64_t size() const;  // bytes of data
  [[nodiscard]] std::int64_t lb() const { return lb_; }
  [[nodiscard]] std::int64_t extent() const { return extent_; }
  [[nodiscard]] std::int64_t true_lb() const;
  [[nodiscard]] std::int64_t true_extent() const;
  // One run, and repetitions of the type touch each other: any count of it is one run.
  [[nodiscard]] bool contiguous() const;
  // Runs of one repetition; runs of neighbouring parts that happen to touch are counted apart.
  [[nodiscard]] std::int64_t blocks() const;
  // Every run begins where the one before ended or later: no overlap, and one order in file and data.
  [[nodiscard]] bool ascending() const;
  // The same over all repetitions of the type.
  [[nodiscard]] bool tiles_ascending() const;
  // Bytes of memory that the tree takes, this object not counted.
  [[nodiscard]] std::size_t memory() const;
  // Bytes of data in external32.
  [[nodiscard]] std::int64_t external_size() const;

  // Where runs begin never goes back from one to the next; overlaps may be.
  [[nodiscard]] bool sorted() const;
  // Bytes of data of one repetition that lie before `place`. Only for ascending types.
  [[nodiscard]] std::int64_t size_before(std::int64_t place) const;

  // For sending the layout to another process: a few dozen bytes for a regular type. Elements are not kept: a
  // decoded type is one of bytes. Nothing if it would take more than `most` bytes.
  [[nodiscard]] std::optional<std::vector<std::byte>> encode(std::size_t most) const;
  // Code::malformed for what encode() cannot have made.
  static Result<FlatType> decode(std::span<const std::byte> bytes);
  // Of what nobody vouches for: takes no memory, and what passes is decoded without harm. Code::malformed as decode(), and
  // for numbers near the ends of their range.
  static Result<FlatSummary> summarize(std::span<const std::byte> bytes);

  // The elements of one repetition, in order; neighbours of one sort are joined where that is cheap.
  void each_element_run(const std::function<void(const ElementRun&)>& visit) const;

 private:
  friend class TypeCursor;
  FlatType(flat::Placed data, std::int64_t lb, std::int64_t extent, flat::SignaturePointer signature);

  flat::Placed data_;
  std::int64_t lb_ = 0;
  std::int64_t extent_ = 0;
  flat::SignaturePointer signature_;  // null: no data
};

}  // namespace tutti
