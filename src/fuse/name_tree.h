// NameTree: directories, names and attributes of a file system in memory. Pure: no bytes, no clock, no I/O.
//
// An inode lives while it has a name, is open, or is known to the kernel (lookups). Errors are errno values, as the
// kernel's requests want them; 0 is success. Permissions are the kernel's business (default_permissions).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace tutti {

struct Inode {
  std::uint64_t number = 0;
  mode_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t links = 0;  // names; of a directory 1 while it is in the tree
  Bytes length;
  Nanos modified;  // wall time
  Nanos changed;
  Nanos accessed;
  std::uint64_t parent = 0;                       // of a directory
  std::map<std::string, std::uint64_t> children;  // of a directory
  std::string target;                             // of a symbolic link
  std::uint64_t lookups = 0;
  std::uint64_t opens = 0;

  [[nodiscard]] bool directory() const { return S_ISDIR(mode); }
  [[nodiscard]] bool file() const { return S_ISREG(mode); }
};

// Who makes a file, and when.
struct Maker {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  Nanos now;
};

class NameTree {
 public:
  static constexpr std::uint64_t kRoot = 1;
  static constexpr std::size_t kLongestName = 255;

  // `gone` hears of each file that is not there any more.
  NameTree(const Maker& owner, std::function<void(std::uint64_t)> gone);

  // Null if there is none.
  [[nodiscard]] Inode* find(std::uint64_t number);
  [[nodiscard]] Inode* child(std::uint64_t parent, const std::string& name);

  // The mode has the kind of file. EEXIST, ENOENT, ENOTDIR, ENAMETOOLONG.
  int make(std::uint64_t parent, const std::string& name, mode_t mode, const Maker& maker, Inode*& made);
  // Another name for a file.
  int link(std::uint64_t number, std::uint64_t parent, const std::string& name, Nanos now);
  // ENOENT, EISDIR or ENOTDIR, ENOTEMPTY.
  int unlink(std::uint64_t parent, const std::string& name, Nanos now);
  int remove_directory(std::uint64_t parent, const std::string& name, Nanos now);
  // Replaces what has the new name, unless `keep` (EEXIST). `exchange` is not done: EINVAL.
  int rename(std::uint64_t parent, const std::string& name, std::uint64_t new_parent,
             const std::string& new_name, bool keep, Nanos now);

  // The kernel knows an inode once more, or so many times less.
  static void looked_up(Inode& inode) { ++inode.lookups; }
  void forget(std::uint64_t number, std::uint64_t lookups);
  static void opened(Inode& inode) { ++inode.opens; }
  void closed(std::uint64_t number);

  [[nodiscard]] std::size_t size() const { return inodes_.size(); }

 private:
  void collect(std::uint64_t number);
  [[nodiscard]] bool below(std::uint64_t number, std::uint64_t directory);

  std::map<std::uint64_t, Inode> inodes_;
  std::uint64_t next_ = kRoot + 1;
  std::function<void(std::uint64_t)> gone_;
};

}  // namespace tutti
