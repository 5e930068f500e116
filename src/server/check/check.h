// Check: whether metadata, objects and stores of a cluster belong together. Pure.
//
// A file that was removed keeps its objects until the metadata server has had them removed: those are listed as orphans
// and are no problem. Missing objects are holes where nothing was written, or lost: nobody can tell, so they are doubts;
// a store that has none of its objects is a problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/store.h"
#include "server/check/snapshot.h"

namespace tutti::check {

struct ObjectLength {
  ObjectId object;
  Bytes length;
};

// What a data server's store holds; not asked if `missing` says why.
struct ServerObjects {
  Status missing;
  StoreIdentity identity;
  std::vector<ObjectLength> objects;  // ascending
};

enum class Problem : std::uint8_t {
  damaged_record,
  entry_without_inode,
  inode_without_name,
  wrong_link_count,
  wrong_parent,
  wrong_file_count,
  orphan_of_living_file,
  bad_layout,
  wrong_store,
  empty_store,
  server_not_asked,
  object_without_file,
  object_newer_than_backup,
  object_outside_layout,
  object_too_long,
  missing_object,
};
// "object without file".
std::string_view name_of(Problem problem);
// Whether repair() or the removal of the object cures it.
bool repairable(Problem problem);

struct Finding {
  Problem problem = Problem::damaged_record;
  std::string text;
  std::uint64_t inode = 0;              // 0: none
  std::optional<std::uint32_t> server;  // of an object or a store
  Bytes bytes;                          // of an object
};

struct Report {
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0;
  std::uint64_t objects = 0;
  Bytes bytes;                // of the objects
  std::uint64_t orphans = 0;  // objects of removed files that are still to go
  std::vector<Finding> problems;
  std::vector<Finding> doubts;
};

// `servers` by their number. The objects must have been listed before the snapshot was taken: what was made since is then
// not taken for a problem, and what was removed since is one that another look at the object clears up.
Report check(const Snapshot& snapshot, const std::vector<ServerObjects>& servers);

}  // namespace tutti::check
