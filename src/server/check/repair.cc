#include "server/check/repair.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace tutti::check {
namespace {

using meta::Inode;

constexpr std::string_view kLostAndFound = "lost+found";

class Repairer {
 public:
  Repairer(KvWriter& kv, const Snapshot& snapshot, Nanos wall)
      : kv_(kv),
        snapshot_(snapshot),
        wall_(wall),
        superblock_(snapshot.superblock),
        inodes_(snapshot.inodes) {}

  Status run() {
    TUTTI_TRY(drop_bad_entries());
    TUTTI_TRY(name_the_nameless());
    for (const auto& [server, inode] : snapshot_.orphans) {
      const auto found = inodes_.find(inode);
      if (found == inodes_.end() || found->second.links == 0) continue;
      TUTTI_TRY(kv_.erase(meta::orphan_key(server, inode)));
      TUTTI_TRY(kv_.erase(meta::removed_key(inode)));
    }
    superblock_.files = 0;
    for (auto& [id, inode] : inodes_) {
      if (inode.type == wire::kFile) ++superblock_.files;
      if (inode.links > 0 || names_[id] > 0) set_links(inode);
      const auto before = snapshot_.inodes.find(id);
      if (before == snapshot_.inodes.end() || meta::encode(before->second) != meta::encode(inode))
        TUTTI_TRY(kv_.put(meta::inode_key(id), meta::encode(inode)));
    }
    return kv_.put(meta::superblock_key(), meta::encode(superblock_));
  }

 private:
  Status drop_bad_entries() {
    for (const NamedEntry& each : snapshot_.entries) {
      const auto found = inodes_.find(each.entry.inode);
      if (found == inodes_.end() || found->second.type != each.entry.type) {
        TUTTI_TRY(kv_.erase(meta::entry_key(each.directory, each.name)));
        continue;
      }
      note(each.directory, each.name, found->second);
    }
    return {};
  }

  void note(std::uint64_t directory, const std::string& name, Inode& inode) {
    ++names_[inode.id];
    if (directory == wire::kRootInode && name == kLostAndFound) lost_and_found_ = inode.id;
    if (inode.type != wire::kDirectory) return;
    ++subdirectories_[directory];
    inode.parent = directory;
  }

  Status add(std::uint64_t directory, const std::string& name, Inode& inode) {
    note(directory, name, inode);
    return kv_.put(meta::entry_key(directory, name), meta::encode(meta::Entry{inode.id, inode.type}));
  }

  Status name_the_nameless() {
    std::vector<std::uint64_t> nameless;
    for (const auto& [id, inode] : inodes_) {
      if (id != wire::kRootInode && names_[id] == 0 && inode.links > 0) nameless.push_back(id);
    }
    if (nameless.empty()) return {};
    if (lost_and_found_ == 0) {
      Inode made;
      made.id = superblock_.next_inode++;
      made.type = wire::kDirectory;
      made.mode = 0700;
      made.links = 2;
      made.accessed = made.modified = made.changed = wall_;
      Inode& placed = inodes_.emplace(made.id, made).first->second;
      TUTTI_TRY(add(wire::kRootInode, std::string(kLostAndFound), placed));
    }
    for (const std::uint64_t id : nameless)
      TUTTI_TRY(add(lost_and_found_, fmt::format("inode-{}", id), inodes_.at(id)));
    return {};
  }

  void set_links(Inode& inode) {
    inode.links = inode.type == wire::kDirectory ? 2 + subdirectories_[inode.id] : names_[inode.id];
  }

  KvWriter& kv_;
  const Snapshot& snapshot_;
  Nanos wall_;
  meta::Superblock superblock_;
  std::map<std::uint64_t, Inode> inodes_;
  std::map<std::uint64_t, std::uint32_t> names_;
  std::map<std::uint64_t, std::uint32_t> subdirectories_;
  std::uint64_t lost_and_found_ = 0;
};

}  // namespace

Status repair(KvWriter& kv, const Snapshot& snapshot, Nanos wall) {
  return Repairer(kv, snapshot, wall).run();
}

}  // namespace tutti::check
