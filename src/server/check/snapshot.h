// Snapshot: all metadata of a cluster in memory, for checks. Some 300 bytes for each file.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "env/kv.h"
#include "server/meta/records.h"

namespace tutti::check {

struct NamedEntry {
  std::uint64_t directory = 0;
  std::string name;
  meta::Entry entry;
};

struct Snapshot {
  meta::Superblock superblock;
  std::map<std::uint64_t, meta::Inode> inodes;
  std::vector<NamedEntry> entries;
  std::unordered_map<std::uint64_t, std::size_t> name_of;     // inode: the first of its entries
  std::set<std::pair<std::uint32_t, std::uint64_t>> orphans;  // data server, inode: still to be removed
  std::map<std::uint32_t, Uuid> stores;                       // by data server
  std::map<std::uint64_t, meta::Restore> restores;            // by the epoch that it began
  std::vector<std::string> damaged;                           // what does not parse

  // "/a/b", or "inode 17" if no name leads there.
  [[nodiscard]] std::string path_of(std::uint64_t inode) const;
};

// Fails only if the superblock cannot be read; other damage is noted.
Result<Snapshot> take_snapshot(const KvReader& kv);

}  // namespace tutti::check
