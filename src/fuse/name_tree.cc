#include "fuse/name_tree.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tutti {

NameTree::NameTree(const Maker& owner, std::function<void(std::uint64_t)> gone) : gone_(std::move(gone)) {
  Inode root;
  root.number = root.parent = kRoot;
  root.mode = S_IFDIR | 0755;
  root.uid = owner.uid;
  root.gid = owner.gid;
  root.links = 1;
  root.modified = root.changed = root.accessed = owner.now;
  inodes_.emplace(kRoot, std::move(root));
}

Inode* NameTree::find(std::uint64_t number) {
  const auto found = inodes_.find(number);
  return found == inodes_.end() ? nullptr : &found->second;
}

Inode* NameTree::child(std::uint64_t parent, const std::string& name) {
  const Inode* directory = find(parent);
  if (directory == nullptr) return nullptr;
  const auto found = directory->children.find(name);
  return found == directory->children.end() ? nullptr : find(found->second);
}

int NameTree::make(std::uint64_t parent, const std::string& name, mode_t mode, const Maker& maker,
                   Inode*& made) {
  Inode* directory = find(parent);
  if (directory == nullptr || directory->links == 0) return ENOENT;
  if (!directory->directory()) return ENOTDIR;
  if (name.size() > kLongestName) return ENAMETOOLONG;
  if (directory->children.contains(name)) return EEXIST;
  Inode inode;
  inode.number = next_++;
  inode.mode = mode;
  inode.uid = maker.uid;
  inode.gid = maker.gid;
  inode.links = 1;
  inode.parent = parent;
  inode.modified = inode.changed = inode.accessed = maker.now;
  directory->children.emplace(name, inode.number);
  directory->modified = directory->changed = maker.now;
  const std::uint64_t number = inode.number;
  made = &inodes_.emplace(number, std::move(inode)).first->second;
  return 0;
}

int NameTree::link(std::uint64_t number, std::uint64_t parent, const std::string& name, Nanos now) {
  Inode* inode = find(number);
  Inode* directory = find(parent);
  if (inode == nullptr || directory == nullptr || directory->links == 0) return ENOENT;
  if (!directory->directory()) return ENOTDIR;
  if (inode->directory()) return EPERM;
  if (name.size() > kLongestName) return ENAMETOOLONG;
  if (!directory->children.emplace(name, number).second) return EEXIST;
  ++inode->links;
  inode->changed = directory->modified = directory->changed = now;
  return 0;
}

int NameTree::unlink(std::uint64_t parent, const std::string& name, Nanos now) {
  Inode* inode = child(parent, name);
  if (inode == nullptr) return ENOENT;
  if (inode->directory()) return EISDIR;
  Inode* directory = find(parent);
  directory->children.erase(name);
  directory->modified = directory->changed = inode->changed = now;
  --inode->links;
  collect(inode->number);
  return 0;
}

int NameTree::remove_directory(std::uint64_t parent, const std::string& name, Nanos now) {
  Inode* inode = child(parent, name);
  if (inode == nullptr) return ENOENT;
  if (!inode->directory()) return ENOTDIR;
  if (!inode->children.empty()) return ENOTEMPTY;
  Inode* directory = find(parent);
  directory->children.erase(name);
  directory->modified = directory->changed = now;
  inode->links = 0;
  collect(inode->number);
  return 0;
}

int NameTree::rename(std::uint64_t parent, const std::string& name, std::uint64_t new_parent,
                     const std::string& new_name, bool keep, Nanos now) {
  Inode* inode = child(parent, name);
  Inode* into = find(new_parent);
  if (inode == nullptr || into == nullptr || into->links == 0) return ENOENT;
  if (!into->directory()) return ENOTDIR;
  if (new_name.size() > kLongestName) return ENAMETOOLONG;
  if (inode->directory() && below(new_parent, inode->number)) return EINVAL;
  if (const Inode* other = child(new_parent, new_name); other != nullptr) {
    if (keep) return EEXIST;
    if (other->number == inode->number) return 0;
    if (inode->directory() != other->directory()) return inode->directory() ? ENOTDIR : EISDIR;
    const int error =
        other->directory() ? remove_directory(new_parent, new_name, now) : unlink(new_parent, new_name, now);
    if (error != 0) return error;
  }
  Inode* from = find(parent);
  from->children.erase(name);
  into->children.emplace(new_name, inode->number);
  inode->parent = new_parent;
  from->modified = from->changed = into->modified = into->changed = inode->changed = now;
  return 0;
}

// Whether `number` is the directory or lies in it.
bool NameTree::below(std::uint64_t number, std::uint64_t directory) {
  for (;;) {
    if (number == directory) return true;
    if (number == kRoot) return false;
    const Inode* inode = find(number);
    if (inode == nullptr) return false;
    number = inode->parent;
  }
}

void NameTree::forget(std::uint64_t number, std::uint64_t lookups) {
  Inode* inode = find(number);
  if (inode == nullptr) return;
  inode->lookups -= std::min(lookups, inode->lookups);
  collect(number);
}

void NameTree::closed(std::uint64_t number) {
  Inode* inode = find(number);
  if (inode == nullptr) return;
  if (inode->opens > 0) --inode->opens;
  collect(number);
}

void NameTree::collect(std::uint64_t number) {
  const auto found = inodes_.find(number);
  if (found == inodes_.end() || number == kRoot) return;
  const Inode& inode = found->second;
  if (inode.links > 0 || inode.lookups > 0 || inode.opens > 0) return;
  const bool file = inode.file();
  inodes_.erase(found);
  if (file) gone_(number);
}

}  // namespace tutti
