// The tree inside a FlatType. For flat_type.cc, flat_codec.cc and type_cursor.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/flat_type.h"

namespace tutti::flat {

// Data relative to a base. Every node has data; where a part lies is in its parent.
struct Node {
  enum class Kind : std::uint8_t {
    dense,    // `size` bytes at 0
    strided,  // `count` children at multiples of `stride`
    blocks,   // dense blocks at `offsets`, each `length` long, or as `begins` says if that is 0
    list,  // at each of `offsets` repetitions of the child, `stride` apart: how many, `begins` counts through
    group,  // `children` at `offsets`; `begins` counts their bytes through
  };
  Kind kind = Kind::dense;
  bool ascending = true;  // see FlatType
  bool sorted = true;
  std::int64_t size = 0;
  std::int64_t low = 0;    // lowest byte
  std::int64_t high = 0;   // behind the highest byte
  std::int64_t first = 0;  // begin of the first run in data order
  std::int64_t last = 0;   // begin of the last one
  std::int64_t runs = 1;   // dense parts
  std::int64_t count = 0;  // of parts
  std::int64_t stride = 0;
  std::int64_t length = 0;
  NodePointer child;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> begins;  // one more than parts
  std::vector<NodePointer> children;

  [[nodiscard]] std::int64_t block_length(std::size_t i) const {
    return length > 0 ? length : begins[i + 1] - begins[i];
  }
};

struct Block {
  std::int64_t offset = 0;
  std::int64_t length = 0;  // of a dense block; or how many repetitions
};

Placed dense(std::int64_t size);
// `count` times what is given, `stride` apart.
Placed repeat(std::int64_t count, std::int64_t stride, const Placed& part);
// Dense blocks in data order. Neighbours that touch are joined; takes the list over.
Placed blocks(std::vector<Block> list);
// At each block's offset so many repetitions of the part, `stride` apart.
Placed list(std::vector<Block> blocks, std::int64_t stride, const Placed& part);
// Parts one behind the other in data order.
Placed group(std::vector<Placed> parts);

// Bytes before `place` of an ascending tree.
std::int64_t size_before(const Node& node, std::int64_t place);
// Of the tree; a subtree that is shared is counted once for each parent.
std::size_t memory(const Node& node);

// What the elements of a type are, without where they lie.
struct Signature {
  ElementRun run;  // without parts: this
  struct Part {
    SignaturePointer signature;
    std::int64_t count = 0;
  };
  std::vector<Part> parts;
  std::int64_t external = 0;  // bytes
};
SignaturePointer signature(const ElementRun& run);
SignaturePointer repeat(std::int64_t count, const SignaturePointer& signature);
SignaturePointer sequence(std::vector<Signature::Part> parts);

}  // namespace tutti::flat
