// How a FlatType travels: its tree in preorder, numbers as variable-length integers.
#include "layout/flat_codec.h"

#include <utility>

#include "layout/flat_node.h"

namespace tutti {
namespace {

using flat::Block;
using flat::Node;
using flat::Placed;

using flat::kDeepest;
using flat::kLargest;
using flat::Numbers;

class Writer {
 public:
  explicit Writer(std::size_t most) : most_(most) {}
  [[nodiscard]] bool full() const { return bytes_.size() > most_; }
  void put(std::int64_t value) {
    // Zigzag: small numbers of either sign are short.
    auto bits = (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
    while (bits >= 0x80) {
      bytes_.push_back(static_cast<std::byte>(bits | 0x80U));
      bits >>= 7U;
    }
    bytes_.push_back(static_cast<std::byte>(bits));
  }
  void put(const Node& node) {
    if (full()) return;
    put(static_cast<std::int64_t>(node.kind));
    if (node.kind == Node::Kind::dense) return put(node.size);
    put(node.count);
    if (node.kind == Node::Kind::strided || node.kind == Node::Kind::list) {
      put(node.stride);
      put(*node.child);
    }
    std::int64_t before = 0;
    for (std::size_t i = 0; i < node.offsets.size() && !full(); ++i) {
      put(node.offsets[i] - before);
      before = node.offsets[i];
      if (node.kind == Node::Kind::group) {
        put(*node.children[i]);
      } else {
        put(node.block_length(i));
      }
    }
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::size_t most_;
  std::vector<std::byte> bytes_;
};

// Reads what Writer wrote and refuses the rest: nodes that overflow, end early or are too deep.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : numbers_(bytes) {}
  [[nodiscard]] bool good() const { return good_ && numbers_.good(); }
  [[nodiscard]] bool done() const { return good() && numbers_.empty(); }
  std::int64_t number() { return numbers_.next(); }
  Placed node(int depth) {
    const std::int64_t kind = number();
    if (depth > kDeepest || kind < 0 || kind > static_cast<std::int64_t>(Node::Kind::group)) return refuse();
    switch (static_cast<Node::Kind>(kind)) {
      case Node::Kind::dense: {
        const std::int64_t size = number();
        return size > 0 && size <= kLargest ? flat::dense(size) : refuse();
      }
      case Node::Kind::strided: {
        const std::int64_t count = number();
        const std::int64_t stride = number();
        const Placed child = node(depth + 1);
        if (!good() || count < 1 || !fits(count, stride, child)) return refuse();
        return flat::repeat(count, stride, child);
      }
      case Node::Kind::group:
        return group(depth);
      default:
        return listed(depth, static_cast<Node::Kind>(kind) == Node::Kind::list);
    }
  }

 private:
  Placed refuse() {
    good_ = false;
    return {};
  }
  // Bytes and places of so many repetitions stay far from the ends of the numbers.
  static bool fits(std::int64_t count, std::int64_t stride, const Placed& part) {
    std::int64_t bytes = 0;
    std::int64_t reach = 0;
    return !__builtin_mul_overflow(count, part.node->size, &bytes) && bytes <= kLargest &&
           !__builtin_mul_overflow(count, stride, &reach) && fits(reach) && fits(part.node->high + reach) &&
           fits(part.node->low + reach);
  }
  static bool fits(std::int64_t place) { return place < kLargest && place > -kLargest; }

  Placed group(int depth) {
    const std::int64_t count = number();
    if (!good() || !numbers_.plausible(count)) return refuse();
    std::vector<Placed> parts;
    std::int64_t at = 0;
    std::int64_t size = 0;
    for (std::int64_t i = 0; i < count && good(); ++i) {
      if (__builtin_add_overflow(at, number(), &at) || !fits(at)) return refuse();
      Placed part = node(depth + 1);
      if (!good() || !fits(size += part.node->size)) return refuse();
      part.shift += at;
      parts.push_back(std::move(part));
    }
    return good() ? flat::group(std::move(parts)) : Placed();
  }

  Placed listed(int depth, bool repeated) {
    const std::int64_t count = number();
    const std::int64_t stride = repeated ? number() : 0;
    const Placed child = repeated ? node(depth + 1) : flat::dense(1);
    if (!good() || !numbers_.plausible(count)) return refuse();
    std::vector<Block> list;
    std::int64_t at = 0;
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (__builtin_add_overflow(at, number(), &at) || !fits(at)) return refuse();
      const std::int64_t length = number();
      if (!good() || length < 1 || __builtin_add_overflow(total, length, &total) || !fits(total) ||
          !fits(length, repeated ? stride : 1, child)) {
        return refuse();
      }
      list.push_back({at, length});
    }
    if (!fits(total, 0, child)) return refuse();
    return repeated ? flat::list(std::move(list), stride, child) : flat::blocks(std::move(list));
  }

  Numbers numbers_;
  bool good_ = true;
};

}  // namespace

std::optional<std::vector<std::byte>> FlatType::encode(std::size_t most) const {
  Writer writer(most);
  writer.put(lb_);
  writer.put(extent_);
  writer.put(data_.shift);
  if (data_.node != nullptr) writer.put(*data_.node);
  if (writer.full()) return std::nullopt;
  return writer.take();
}

Result<FlatType> FlatType::decode(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  const std::int64_t lb = reader.number();
  const std::int64_t extent = reader.number();
  const std::int64_t shift = reader.number();
  Placed data;
  if (reader.good() && !reader.done()) data = reader.node(0);
  if (!reader.done()) return Status(Code::malformed, "a datatype from another rank does not parse");
  data.shift += shift;
  const std::int64_t size = data.node == nullptr ? 0 : data.node->size;
  return FlatType(std::move(data), lb, extent, flat::signature({Element(), size}));
}

}  // namespace tutti
