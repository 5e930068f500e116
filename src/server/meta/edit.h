// TreeEditor: the changes of the tree, each with its permission checks, inside one transaction. Pure.
//
// The rules are POSIX's. After an error the transaction must be given up; otherwise finish() must be called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/meta/tree.h"

namespace tutti::meta {

// What new files get if neither their creator nor their directory says otherwise.
struct ClusterDefaults {
  std::uint32_t server_total = 1;
  Bytes stripe_size = 64_KiB;
  std::uint32_t stripe_count = 0;  // 0: all
};

struct AttributeChange {
  std::uint32_t mask = 0;  // wire::AttributeMask
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t accessed = 0;  // wall, or wire::kTimeNow
  std::int64_t modified = 0;
  Wish wish;
};

struct RemovedFile {
  std::uint64_t inode = 0;
  Layout layout;
  bool fresh = false;  // it never had a name
};

struct Opened {
  Inode node;
  bool created = false;
};

// The layout of a new file: its wish, then its directory's, then the cluster's default.
Result<Layout> choose_layout(const ClusterDefaults& defaults, const Wish& directory, const Wish& wish,
                             std::uint64_t inode);

// Opens what exists: all of open() that needs no writer. Nothing if the file would have to be made.
Result<std::optional<Inode>> open_existing(const Tree& tree, const Place& place, std::uint32_t flags);

class TreeEditor : public Tree {
 public:
  // All must outlive it.
  TreeEditor(KvWriter& kv, const Caller& caller, const ClusterDefaults& defaults, Superblock superblock)
      : Tree(kv, caller), kv_(kv), defaults_(defaults), superblock_(superblock), stored_(superblock) {}

  Result<Opened> open(const Place& place, std::uint32_t flags, std::uint32_t mode, const Wish& wish);
  // Names a file that was opened without a name and is open still.
  Status give_name(std::uint64_t file, const Place& place, bool replace);
  Result<Inode> make_directory(const Place& place, std::uint32_t mode, const Wish& wish);
  Result<Inode> symlink(const Place& place, const std::string& target);
  // A symbolic link at `from` is not followed but gets a second name.
  Result<Inode> link(const Place& from, const Place& to);
  Status remove(const Place& place, bool directory);
  Status rename(const Place& from, const Place& to, bool exclusive);
  Result<Inode> set_attributes(const Place& place, bool follow, const AttributeChange& change);
  // The file was written last at `modified`. What was set by hand later stays.
  Status commit(std::uint64_t file, Nanos modified);

  // Stores what the operations have changed in the superblock.
  Status finish();
  [[nodiscard]] Superblock& superblock() { return superblock_; }
  // For records beside the tree.
  [[nodiscard]] KvWriter& kv() { return kv_; }
  // The files that have no name now.
  [[nodiscard]] const std::vector<RemovedFile>& removed() const { return removed_; }

 private:
  Status put(const Inode& node);
  Status add_entry(Inode& parent, const std::string& name, const Inode& node);
  Status drop_link(Inode node);
  Result<Opened> open_unnamed(const Place& place, std::uint32_t mode, const Wish& wish);
  Result<Inode> create(Walked& at, Inode node);
  // Number, owner, mode and times of a new node in a directory.
  void begin(Inode& node, const Inode& parent);
  [[nodiscard]] Result<Walked> walk_to_new(const Place& place) const;
  [[nodiscard]] Status check_remove(const Inode& parent, const Inode& node) const;
  [[nodiscard]] Status check_replace(const Inode& node, const Walked& to) const;
  Status move(Walked& from, Walked& to);
  Status set_mode(Inode& node, std::uint32_t mode);
  Status set_owner(Inode& node, const AttributeChange& change);
  Status set_times(Inode& node, const AttributeChange& change);
  Status set_wish(Inode& node, const Wish& wish);

  KvWriter& kv_;
  const ClusterDefaults& defaults_;
  Superblock superblock_;
  Superblock stored_;
  std::vector<RemovedFile> removed_;
};

}  // namespace tutti::meta
