#include "layout/type_cursor.h"

#include <algorithm>
#include <utility>

#include "layout/flat_node.h"

namespace tutti {
namespace {

using flat::Node;

std::int64_t part_of(const std::vector<std::int64_t>& begins, std::int64_t place) {
  return std::upper_bound(begins.begin(), begins.end(), place) - begins.begin() - 1;
}

}  // namespace

TypeCursor::TypeCursor(FlatType type, std::int64_t origin, std::int64_t count)
    : type_(std::move(type)), origin_(origin), count_(count) {
  const std::int64_t size = type_.size();
  if (size == 0) count_ = 0;
  dense_ = type_.contiguous();
  total_ = count_ == kUnbounded ? kUnbounded : count_ * size;
  if (!dense_ && count_ > 0) levels_.reserve(8);
  seek(0);
}

void TypeCursor::seek(std::int64_t data_offset) {
  position_ = data_offset;
  if (dense_ || at_end()) return;
  const std::int64_t size = type_.size();
  repetition_ = data_offset / size;
  levels_.clear();
  descend(type_.data_.node.get(), origin_ + type_.data_.shift + repetition_ * type_.extent_,
          data_offset % size);
}

// Goes down to the run that holds byte `into` of the node.
void TypeCursor::descend(const Node* node, std::int64_t base, std::int64_t into) {
  for (;;) {
    switch (node->kind) {
      case Node::Kind::dense:
        leaf_ = {base + into, node->size - into};
        return;
      case Node::Kind::blocks: {
        const std::int64_t i = node->length > 0 ? into / node->length : part_of(node->begins, into);
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t skip = into - (node->length > 0 ? i * node->length : node->begins[at]);
        levels_.push_back({node, base, i, 0});
        leaf_ = {base + node->offsets[at] + skip, node->block_length(at) - skip};
        return;
      }
      case Node::Kind::strided: {
        const std::int64_t i = into == 0 ? 0 : into / node->child->size;
        levels_.push_back({node, base, i, 0});
        into -= i * node->child->size;
        base += i * node->stride;
        node = node->child.get();
        break;
      }
      case Node::Kind::list: {
        const std::int64_t repetition = into == 0 ? 0 : into / node->child->size;
        const std::int64_t i = part_of(node->begins, repetition);
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t inner = repetition - node->begins[at];
        levels_.push_back({node, base, i, inner});
        into -= repetition * node->child->size;
        base += node->offsets[at] + inner * node->stride;
        node = node->child.get();
        break;
      }
      case Node::Kind::group: {
        const std::int64_t i = part_of(node->begins, into);
        const auto at = static_cast<std::size_t>(i);
        levels_.push_back({node, base, i, 0});
        into -= node->begins[at];
        base += node->offsets[at];
        node = node->children[at].get();
        break;
      }
    }
  }
}

// Goes on to the run behind the current one; there is one.
void TypeCursor::advance() {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    const Node& node = *level.node;
    if (node.kind == Node::Kind::list) {
      const auto at = static_cast<std::size_t>(level.index);
      if (level.inner + 1 < node.begins[at + 1] - node.begins[at]) {
        ++level.inner;
        return descend(node.child.get(), level.base + node.offsets[at] + level.inner * node.stride, 0);
      }
      level.inner = 0;
    }
    if (++level.index == node.count) {
      levels_.pop_back();
      continue;
    }
    const auto at = static_cast<std::size_t>(level.index);
    switch (node.kind) {
      case Node::Kind::strided:
        return descend(node.child.get(), level.base + level.index * node.stride, 0);
      case Node::Kind::blocks:
        leaf_ = {level.base + node.offsets[at], node.block_length(at)};
        return;
      case Node::Kind::list:
        return descend(node.child.get(), level.base + node.offsets[at], 0);
      default:
        return descend(node.children[at].get(), level.base + node.offsets[at], 0);
    }
  }
  ++repetition_;
  descend(type_.data_.node.get(), origin_ + type_.data_.shift + repetition_ * type_.extent_, 0);
}

TypeRun TypeCursor::next(std::int64_t most) {
  if (at_end()) return {};
  if (dense_) {
    const TypeRun run{origin_ + type_.data_.shift + position_, std::min(most, total_ - position_)};
    position_ += run.length;
    return run;
  }
  TypeRun run{leaf_.offset, 0};
  while (run.length < most && leaf_.offset == run.offset + run.length) {
    const std::int64_t step = std::min(leaf_.length, most - run.length);
    run.length += step;
    position_ += step;
    leaf_.offset += step;
    leaf_.length -= step;
    if (leaf_.length > 0 || position_ == total_) break;
    advance();
  }
  return run;
}

}  // namespace tutti
