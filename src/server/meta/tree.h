// Tree: the tree of names as one caller may see it, over one state of the Kv. Pure.
//
// Paths: "." and empty parts are dropped, ".." is refused, also inside the targets of symbolic links. To pass
// through a directory takes search permission on it; uid 0 may everything. Targets of symbolic links are
// relative to the link's directory, or absolute from the root of the cluster. Error messages name the part of
// a path that is at fault; the operation and the whole path are added by whoever runs the operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/kv.h"
#include "server/meta/records.h"

namespace tutti::meta {

// In whose name an operation runs, and when.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  Nanos wall;

  [[nodiscard]] bool root() const { return uid == 0; }
  [[nodiscard]] bool in_group(std::uint32_t group) const;
};

enum Access : std::uint32_t { kMayRead = 4, kMayWrite = 2, kMaySearch = 1 };

[[nodiscard]] bool may(const Caller& caller, const Inode& node, std::uint32_t access);

// `path` relative to the inode `base`, which is the root if 0. An empty path is `base` itself. A base that is
// not a directory is for its owner and uid 0 only: the way to it cannot be checked.
struct Place {
  std::uint64_t base = 0;
  std::string path;
};
// For messages.
std::string to_string(const Place& place);

struct Walked {
  std::optional<Inode> parent;  // nothing if the place is the root or `base` itself
  std::string name;             // in the parent
  std::optional<Inode> node;    // nothing if the parent has no such entry
};

struct ListedEntry {
  std::string name;
  Entry entry;
  std::optional<Inode> node;
};
struct Listing {
  std::vector<ListedEntry> entries;
  bool more = false;
};

class Tree {
 public:
  // All must outlive it.
  Tree(const KvReader& kv, const Caller& caller) : kv_(kv), caller_(caller) {}

  // Code::stale if there is none.
  [[nodiscard]] Result<Inode> inode(std::uint64_t id) const;
  // The last part need not exist. `follow`: a symbolic link there is followed; others always are.
  [[nodiscard]] Result<Walked> walk(const Place& place, bool follow) const;
  // Code::not_found if it does not exist.
  [[nodiscard]] Result<Inode> lookup(const Place& place, bool follow) const;
  // Names greater than `after` in bytewise order, at most `limit`, and fewer if the reply would get too long.
  // The inodes come along if `attributes` and the caller may search the directory.
  [[nodiscard]] Result<Listing> list(const Place& place, const std::string& after, std::uint32_t limit,
                                     bool attributes) const;
  [[nodiscard]] Result<bool> empty(const Inode& directory) const;
  // Whether `directory` is `ancestor` or lies below it.
  [[nodiscard]] Result<bool> within(const Inode& directory, std::uint64_t ancestor) const;
  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  [[nodiscard]] Result<std::optional<Inode>> child(const Inode& directory, const std::string& name) const;
  [[nodiscard]] Result<Inode> start(const Place& place) const;

  const KvReader& kv_;
  const Caller& caller_;
};

}  // namespace tutti::meta
