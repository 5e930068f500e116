#include "policy/request/claims.h"

#include <algorithm>
#include <tuple>

#include "base/random.h"

namespace tutti {

void Claims::add(Handle handle, std::uint64_t object, Bytes begin, Bytes end, bool write) {
  if (handle >= nodes_.size()) nodes_.resize(std::size_t{handle} + 1);
  Node& node = nodes_[handle];
  node = Node();
  node.begin = {object, begin};
  node.end = {object, end};
  node.order = next_order_++;
  node.priority = mix64(node.order);
  node.write = write;
  update(handle);
  trees_[write ? 1 : 0] = insert(trees_[write ? 1 : 0], handle);
}

void Claims::remove(Handle handle) {
  Handle& tree = trees_[nodes_[handle].write ? 1 : 0];
  tree = erase(tree, handle);
}

Claims::Handle Claims::earlier(Handle handle) const {
  const Node& wanted = nodes_[handle];
  const Handle writer = find(trees_[1], wanted);
  if (writer != kNone || !wanted.write) return writer;
  return find(trees_[0], wanted);
}

bool Claims::before(Handle a, Handle b) const {
  return std::tie(nodes_[a].begin, nodes_[a].order) < std::tie(nodes_[b].begin, nodes_[b].order);
}

void Claims::update(Handle handle) {
  Node& node = nodes_[handle];
  node.reach = node.end;
  node.earliest = node.order;
  for (const Handle child : {node.left, node.right}) {
    if (child == kNone) continue;
    node.reach = std::max(node.reach, nodes_[child].reach);
    node.earliest = std::min(node.earliest, nodes_[child].earliest);
  }
}

// What comes before `at`, and the rest.
void Claims::split(Handle tree, Handle at, Handle& left, Handle& right) {
  if (tree == kNone) {
    left = right = kNone;
    return;
  }
  Handle inner = kNone;
  if (before(tree, at)) {
    split(nodes_[tree].right, at, inner, right);
    nodes_[tree].right = inner;
    left = tree;
  } else {
    split(nodes_[tree].left, at, left, inner);
    nodes_[tree].left = inner;
    right = tree;
  }
  update(tree);
}

Claims::Handle Claims::merge(Handle left, Handle right) {
  if (left == kNone) return right;
  if (right == kNone) return left;
  if (nodes_[left].priority < nodes_[right].priority) {
    nodes_[left].right = merge(nodes_[left].right, right);
    update(left);
    return left;
  }
  nodes_[right].left = merge(left, nodes_[right].left);
  update(right);
  return right;
}

Claims::Handle Claims::insert(Handle tree, Handle handle) {
  if (tree == kNone) return handle;
  if (nodes_[handle].priority < nodes_[tree].priority) {
    split(tree, handle, nodes_[handle].left, nodes_[handle].right);
    update(handle);
    return handle;
  }
  Handle& child = before(handle, tree) ? nodes_[tree].left : nodes_[tree].right;
  child = insert(child, handle);
  update(tree);
  return tree;
}

Claims::Handle Claims::erase(Handle tree, Handle handle) {
  if (tree == handle) return merge(nodes_[tree].left, nodes_[tree].right);
  Handle& child = before(handle, tree) ? nodes_[tree].left : nodes_[tree].right;
  child = erase(child, handle);
  update(tree);
  return tree;
}

Claims::Handle Claims::find(Handle tree, const Node& wanted) const {
  if (tree == kNone) return kNone;
  const Node& node = nodes_[tree];
  if (node.earliest >= wanted.order || node.reach <= wanted.begin) return kNone;
  if (node.begin < wanted.end && wanted.begin < node.end && node.order < wanted.order) return tree;
  const Handle found = find(node.left, wanted);
  if (found != kNone || node.begin >= wanted.end) return found;
  return find(node.right, wanted);
}

}  // namespace tutti
