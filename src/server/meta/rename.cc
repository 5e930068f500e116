#include <utility>

#include "server/meta/edit.h"

namespace tutti::meta {

// Whether `node` may take the place of what stands at `to`.
Status TreeEditor::check_replace(const Inode& node, const Walked& to) const {
  TUTTI_TRY(check_remove(*to.parent, *to.node));
  const bool directory = node.type == wire::kDirectory;
  if (directory && to.node->type != wire::kDirectory) {
    return {Code::not_directory, "the new name is that of something that is not a directory"};
  }
  if (!directory && to.node->type == wire::kDirectory) {
    return {Code::is_directory, "the new name is that of a directory"};
  }
  if (!directory) return {};
  const Result<bool> none = empty(*to.node);
  if (!none.ok()) return none.status();
  if (!*none) return {Code::not_empty, "the directory at the new name is not empty"};
  return {};
}

Status TreeEditor::rename(const Place& from_place, const Place& to_place, bool exclusive) {
  Result<Walked> from = walk(from_place, false);
  if (!from.ok()) return from.status();
  Result<Walked> to = walk(to_place, false);
  if (!to.ok()) return to.status();
  if (!from->parent || !to->parent) return {Code::invalid, "both paths must end in a name"};
  if (!from->node) return {Code::not_found, "no such file or directory"};
  if (to->node && exclusive) return {Code::exists, "the new name exists"};
  if (to->node && to->node->id == from->node->id) return {};

  const Inode& node = *from->node;
  const bool directory = node.type == wire::kDirectory;
  TUTTI_TRY(check_remove(*from->parent, node));
  if (!may(caller(), *to->parent, kMayWrite)) {
    return {Code::permission, "no write permission on the new directory"};
  }
  const bool moves = from->parent->id != to->parent->id;
  if (directory && moves) {
    const Result<bool> below = within(*to->parent, node.id);
    if (!below.ok()) return below.status();
    if (*below) return {Code::invalid, "a directory cannot be moved into itself"};
    if (!may(caller(), node, kMayWrite))
      return {Code::permission, "no write permission on the moved directory"};
  }
  if (to->node) TUTTI_TRY(check_replace(node, *to));
  return move(*from, *to);
}

// All checks are done. The two parents may be one and the same.
Status TreeEditor::move(Walked& from, Walked& to) {
  const bool same_parent = from.parent->id == to.parent->id;
  Inode& source = *from.parent;
  Inode& target = same_parent ? source : *to.parent;
  Inode& node = *from.node;
  if (node.type == wire::kDirectory) {
    --source.links;
    ++target.links;
    node.parent = target.id;
  }
  if (to.node) {
    if (to.node->type == wire::kDirectory) --target.links;
    TUTTI_TRY(drop_link(*to.node));
  }
  TUTTI_TRY(kv_.erase(entry_key(source.id, from.name)));
  if (!same_parent) {
    source.modified = source.changed = caller().wall;
    TUTTI_TRY(put(source));
  }
  node.changed = caller().wall;
  TUTTI_TRY(put(node));
  return add_entry(target, to.name, node);
}

}  // namespace tutti::meta
