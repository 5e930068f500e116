#include "layout/flat_node.h"

#include <algorithm>
#include <utility>

namespace tutti::flat {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - ((a % b < 0) ? 1 : 0); }

// The part before which all data of the earlier ones lie: the last whose offset is at or before `place`.
std::size_t part_at(const std::vector<std::int64_t>& offsets, std::int64_t place) {
  const auto after = std::upper_bound(offsets.begin(), offsets.end(), place);
  return after == offsets.begin() ? 0 : static_cast<std::size_t>(after - offsets.begin()) - 1;
}

// What a list of parts of the given shapes has in common with its neighbours.
class Span {
 public:
  explicit Span(Node& node) : node_(node) {}
  void add(const Node& part, std::int64_t offset) {
    const std::int64_t low = offset + part.low;
    const std::int64_t high = offset + part.high;
    if (begun_) {
      node_.ascending = node_.ascending && part.ascending && low >= node_.high;
      node_.sorted = node_.sorted && part.sorted && offset + part.first >= node_.last;
      node_.low = std::min(node_.low, low);
      node_.high = std::max(node_.high, high);
    } else {
      node_.ascending = part.ascending;
      node_.sorted = part.sorted;
      node_.low = low;
      node_.high = high;
      node_.first = offset + part.first;
      node_.runs = 0;
    }
    begun_ = true;
    node_.last = offset + part.last;
    node_.runs += part.runs;
    node_.size += part.size;
  }

 private:
  Node& node_;
  bool begun_ = false;
};

Node dense_node(std::int64_t size) {
  Node node;
  node.size = size;
  node.high = size;
  return node;
}

NodePointer keep(Node node) { return std::make_shared<const Node>(std::move(node)); }

Node strided_node(std::int64_t count, std::int64_t stride, const NodePointer& child) {
  Node node;
  node.kind = Node::Kind::strided;
  node.count = count;
  node.stride = stride;
  node.child = child;
  node.size = count * child->size;
  node.runs = count * child->runs;
  const std::int64_t reach = (count - 1) * stride;
  node.low = child->low + std::min<std::int64_t>(0, reach);
  node.high = child->high + std::max<std::int64_t>(0, reach);
  node.first = child->first;
  node.last = child->last + reach;
  node.ascending = child->ascending && stride >= child->high - child->low;
  node.sorted = child->sorted && stride >= child->last - child->first;
  return node;
}

// Equal blocks at equal distances need no list.
bool regular(const std::vector<Block>& list) {
  const std::int64_t stride = list[1].offset - list[0].offset;
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i].length != list[0].length || list[i].offset - list[i - 1].offset != stride) return false;
  }
  return true;
}

void join_neighbours(std::vector<Block>& list) {
  std::size_t kept = 0;
  for (const Block& block : list) {
    if (block.length == 0) continue;
    if (kept > 0 && list[kept - 1].offset + list[kept - 1].length == block.offset) {
      list[kept - 1].length += block.length;
    } else {
      list[kept++] = block;
    }
  }
  list.resize(kept);
}

bool equal_lengths(const std::vector<Block>& list) {
  return std::all_of(list.begin(), list.end(),
                     [&](const Block& block) { return block.length == list.front().length; });
}

}  // namespace

Placed dense(std::int64_t size) {
  if (size == 0) return {};
  return {keep(dense_node(size)), 0};
}

Placed repeat(std::int64_t count, std::int64_t stride, const Placed& part) {
  if (count == 0 || part.node == nullptr) return {};
  if (count == 1) return part;
  const Node& node = *part.node;
  if (node.kind == Node::Kind::dense && stride == node.size)
    return {keep(dense_node(count * node.size)), part.shift};
  if (node.kind == Node::Kind::strided && stride == node.count * node.stride)
    return {keep(strided_node(count * node.count, node.stride, node.child)), part.shift};
  return {keep(strided_node(count, stride, part.node)), part.shift};
}

Placed blocks(std::vector<Block> list) {
  join_neighbours(list);
  if (list.empty()) return {};
  if (list.size() == 1) return {keep(dense_node(list[0].length)), list[0].offset};
  if (regular(list)) {
    const Placed block{keep(dense_node(list[0].length)), list[0].offset};
    return repeat(static_cast<std::int64_t>(list.size()), list[1].offset - list[0].offset, block);
  }
  Node node;
  node.kind = Node::Kind::blocks;
  node.count = static_cast<std::int64_t>(list.size());
  node.offsets.reserve(list.size());
  if (equal_lengths(list)) {
    node.length = list[0].length;
  } else {
    node.begins.reserve(list.size() + 1);
  }
  Span span(node);
  for (const Block& block : list) {
    node.offsets.push_back(block.offset);
    if (node.length == 0) node.begins.push_back(node.size);
    span.add(dense_node(block.length), block.offset);
  }
  if (node.length == 0) node.begins.push_back(node.size);
  return {keep(std::move(node)), 0};
}

Placed list(std::vector<Block> blocks, std::int64_t stride, const Placed& part) {
  if (part.node == nullptr) return {};
  std::erase_if(blocks, [](const Block& block) { return block.length == 0; });
  if (blocks.empty()) return {};
  if (blocks.size() == 1 || regular(blocks)) {
    Placed one = repeat(blocks[0].length, stride, part);
    one.shift += blocks[0].offset;
    if (blocks.size() == 1) return one;
    return repeat(static_cast<std::int64_t>(blocks.size()), blocks[1].offset - blocks[0].offset, one);
  }
  Node node;
  node.kind = Node::Kind::list;
  node.count = static_cast<std::int64_t>(blocks.size());
  node.stride = stride;
  node.child = part.node;
  node.offsets.reserve(blocks.size());
  node.begins.reserve(blocks.size() + 1);
  node.begins.push_back(0);
  Span span(node);
  for (const Block& block : blocks) {
    const std::int64_t offset = block.offset + part.shift;
    node.offsets.push_back(offset);
    node.begins.push_back(node.begins.back() + block.length);
    span.add(block.length == 1 ? *part.node : strided_node(block.length, stride, part.node), offset);
  }
  return {keep(std::move(node)), 0};
}

Placed group(std::vector<Placed> parts) {
  std::erase_if(parts, [](const Placed& part) { return part.node == nullptr; });
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0];
  if (std::all_of(parts.begin(), parts.end(),
                  [](const Placed& part) { return part.node->kind == Node::Kind::dense; })) {
    std::vector<Block> list;
    list.reserve(parts.size());
    for (const Placed& part : parts) list.push_back({part.shift, part.node->size});
    return blocks(std::move(list));
  }
  Node node;
  node.kind = Node::Kind::group;
  node.count = static_cast<std::int64_t>(parts.size());
  Span span(node);
  for (Placed& part : parts) {
    node.offsets.push_back(part.shift);
    node.begins.push_back(node.size);
    span.add(*part.node, part.shift);
    node.children.push_back(std::move(part.node));
  }
  node.begins.push_back(node.size);
  node.offsets.shrink_to_fit();
  node.begins.shrink_to_fit();
  node.children.shrink_to_fit();
  return {keep(std::move(node)), 0};
}

std::int64_t size_before(const Node& node, std::int64_t place) {
  if (place <= node.low) return 0;
  if (place >= node.high) return node.size;
  switch (node.kind) {
    case Node::Kind::dense:
      return place;
    case Node::Kind::strided: {
      const std::int64_t i = std::min(node.count - 1, floor_divide(place - node.child->low, node.stride));
      return i * node.child->size + size_before(*node.child, place - i * node.stride);
    }
    case Node::Kind::blocks: {
      const std::size_t i = part_at(node.offsets, place);
      const std::int64_t before =
          node.length > 0 ? static_cast<std::int64_t>(i) * node.length : node.begins[i];
      return before + std::min(place - node.offsets[i], node.block_length(i));
    }
    case Node::Kind::list: {
      const std::size_t i = part_at(node.offsets, place - node.child->low);
      const std::int64_t within = place - node.offsets[i];
      const std::int64_t repetitions = node.begins[i + 1] - node.begins[i];
      std::int64_t k = 0;
      if (repetitions > 1) {
        k = std::clamp<std::int64_t>(floor_divide(within - node.child->low, node.stride), 0, repetitions - 1);
      }
      return (node.begins[i] + k) * node.child->size + size_before(*node.child, within - k * node.stride);
    }
    case Node::Kind::group: {
      // Offsets alone do not ascend: the parts' own lows count too.
      std::size_t low = 0;
      std::size_t high = node.offsets.size();
      while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        (node.offsets[middle] + node.children[middle]->low <= place ? low : high) = middle;
      }
      return node.begins[low] + size_before(*node.children[low], place - node.offsets[low]);
    }
  }
  return 0;
}

std::size_t memory(const Node& node) {
  std::size_t bytes = sizeof(Node) +
                      (node.offsets.capacity() + node.begins.capacity()) * sizeof(std::int64_t) +
                      node.children.capacity() * sizeof(NodePointer);
  if (node.child != nullptr) bytes += memory(*node.child);
  const Node* before = nullptr;
  for (const NodePointer& child : node.children) {
    if (child.get() != before) bytes += memory(*child);
    before = child.get();
  }
  return bytes;
}

SignaturePointer signature(const ElementRun& run) {
  if (run.count == 0) return nullptr;
  auto made = std::make_shared<Signature>();
  made->run = run;
  made->external = run.count * run.element.external;
  return made;
}

SignaturePointer repeat(std::int64_t count, const SignaturePointer& part) {
  if (count == 0 || part == nullptr) return nullptr;
  if (count == 1) return part;
  if (part->parts.empty()) return signature({part->run.element, part->run.count * count});
  return sequence({{part, count}});
}

SignaturePointer sequence(std::vector<Signature::Part> parts) {
  std::size_t kept = 0;
  for (Signature::Part& part : parts) {
    if (part.count == 0 || part.signature == nullptr) continue;
    if (part.signature->parts.empty() && part.count > 1) part = {repeat(part.count, part.signature), 1};
    if (kept > 0) {
      Signature::Part& before = parts[kept - 1];
      if (before.signature == part.signature) {
        before.count += part.count;
        continue;
      }
      const Signature& left = *before.signature;
      const Signature& right = *part.signature;
      if (before.count == 1 && left.parts.empty() && right.parts.empty() &&
          left.run.element == right.run.element) {
        before.signature = signature({left.run.element, left.run.count + right.run.count});
        continue;
      }
    }
    if (&parts[kept] != &part) parts[kept] = std::move(part);
    ++kept;
  }
  parts.resize(kept);
  if (parts.empty()) return nullptr;
  if (parts.size() == 1 && parts[0].signature->parts.empty())
    return repeat(parts[0].count, parts[0].signature);
  if (parts.size() == 1 && parts[0].count == 1) return parts[0].signature;
  auto made = std::make_shared<Signature>();
  for (const Signature::Part& part : parts) made->external += part.signature->external * part.count;
  made->parts = std::move(parts);
  return made;
}

}  // namespace tutti::flat
