// FileCache: the open objects of a FileStore, the least recently used closed first. Objects in use stay open,
// so that there is never more than one ObjectFile for an object.
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

  // How often a file was made in a fan-out directory, for those who sync it.
  [[nodiscard]] std::uint64_t created_in(std::size_t bucket) const { return created_[bucket]; }

 private:
  using Order = std::list<std::shared_ptr<ObjectFile>>;
  int open_descriptor(ObjectId object, bool create, bool& created);
  void close_idle(std::size_t wanted);

  Executor& executor_;
  ObjectDirectory& directory_;
  std::size_t limit_;
  Order order_;  // most recently used first
  std::unordered_map<std::uint64_t, Order::iterator> files_;
  std::array<std::uint64_t, ObjectDirectory::kFanOut> created_{};
};

}  // namespace tutti
