// FileCache: the open objects of a FileStore, the least recently used closed first. Objects in use stay open,
// so that there is never more than one ObjectFile for an object. Those with writes that were not synced stay open longer
// than others, up to four times the limit in all: a descriptor that was open during a failed write-back hears of it for
// certain, one that is opened later does as long as the kernel keeps the inode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

#include "base/status.h"
#include "env/executor.h"
#include "env/real/store/object_directory.h"
#include "env/real/store/object_file.h"

namespace tutti {

class FileCache {
 public:
  FileCache(Executor& executor, ObjectDirectory& directory, std::size_t limit)
      : executor_(executor), directory_(directory), limit_(limit) {}

  // Null if the object does not exist and is not to be created.
  Result<std::shared_ptr<ObjectFile>> open(ObjectId object, bool create);
  // If it is open. Does not count as use.
  [[nodiscard]] std::shared_ptr<ObjectFile> find(ObjectId object) const;
  // Forgets it; those who have it keep it.
  void forget(ObjectId object);
  void clear();

  // How often a name was made or removed in a fan-out directory, for those who sync it. Counts from 1: what the process
  // before did there may not have been synced.
  [[nodiscard]] std::uint64_t names_changed(std::size_t bucket) const { return 1 + changed_[bucket]; }
  void note_removed(ObjectId object) { ++changed_[ObjectDirectory::bucket(object)]; }

 private:
  using Order = std::list<std::shared_ptr<ObjectFile>>;
  int open_descriptor(ObjectId object, bool create, bool& created);
  void make_room();
  std::size_t close_idle(std::size_t wanted, bool unsynced);

  Executor& executor_;
  ObjectDirectory& directory_;
  std::size_t limit_;
  Order order_;  // most recently used first
  std::unordered_map<std::uint64_t, Order::iterator> files_;
  std::array<std::uint64_t, ObjectDirectory::kFanOut> changed_{};
};

}  // namespace tutti
