// ObjectDirectory: the layout of a FileStore on disk: format file, fan-out directories (made when they
// are first needed), names of objects.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "env/real/file_descriptor.h"
#include "env/store.h"

namespace tutti {

class ObjectDirectory {
 public:
  static constexpr std::size_t kFanOut = 256;

  // Makes what is missing, in an order that survives a crash at any point: the format file comes last. Locks
  // the directory. Code::version, Code::busy as in FileStore::open.
  static Result<ObjectDirectory> open(const std::string& path);

  // The index of the fan-out directory of an object.
  static std::size_t bucket(ObjectId object) { return object.value % kFanOut; }
  // Of an object, for messages.
  [[nodiscard]] std::string path_of(ObjectId object) const;

  // As openat() on the object's file: a descriptor or -1 and errno. O_CREAT makes the fan-out directory as
  // well.
  [[nodiscard]] int open_object(ObjectId object, int flags);
  [[nodiscard]] int unlink_object(ObjectId object) const;
  // The length of the object's file, or -1 and errno.
  [[nodiscard]] off_t length_of(ObjectId object) const;
  // A descriptor of a fan-out directory, for fsync.
  [[nodiscard]] FileDescriptor open_bucket(std::size_t bucket) const;
  // The objects of one fan-out directory, in no order.
  Status list_bucket(std::size_t bucket, std::vector<ObjectId>& objects) const;

  [[nodiscard]] int fd() const { return root_.get(); }
  // The directory of the fan-out directories, and how many were made in it since the start.
  [[nodiscard]] int objects_fd() const { return objects_.get(); }
  [[nodiscard]] std::uint64_t buckets_made() const { return buckets_made_; }
  [[nodiscard]] bool on_tmpfs() const { return on_tmpfs_; }

 private:
  explicit ObjectDirectory(std::string path) : path_(std::move(path)) {}
  Status check_format() const;
  Status create_format();

  std::string path_;
  FileDescriptor root_;
  FileDescriptor objects_;
  bool on_tmpfs_ = false;
  std::uint64_t buckets_made_ = 0;
};

}  // namespace tutti
