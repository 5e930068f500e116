// ObjectDirectory: the layout of a FileStore on disk: format file with the store's identity, fan-out directories (made when
// they are first needed), names of objects, the mark of the newest one.
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

  // As FileStore::create and FileStore::open.
  static Status create(const std::string& path, const StoreIdentity& identity);
  static Status upgrade(const std::string& path, const StoreIdentity& identity);
  static Result<ObjectDirectory> open(const std::string& path);

  [[nodiscard]] const StoreIdentity& identity() const { return identity_; }
  Status bind(const Uuid& metadata);
  // The highest id of all objects that were made here.
  [[nodiscard]] ObjectId newest() const { return newest_; }
  // Where it is kept, for fsync; as new as the objects whose names are synced must be.
  [[nodiscard]] int newest_fd() const { return newest_file_.get(); }

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
  // The directory of the fan-out directories, and how often one was made in it; counts from 1, as what the process
  // before made there may not have been synced.
  [[nodiscard]] int objects_fd() const { return objects_.get(); }
  [[nodiscard]] std::uint64_t buckets_made() const { return buckets_made_; }
  [[nodiscard]] bool on_tmpfs() const { return on_tmpfs_; }

 private:
  explicit ObjectDirectory(std::string path) : path_(std::move(path)) {}
  Status lock();
  Status read_format();
  Status write_format(const StoreIdentity& identity) const;
  Status read_newest();
  void note_made(ObjectId object);

  std::string path_;
  FileDescriptor root_;
  FileDescriptor objects_;
  FileDescriptor newest_file_;
  int version_ = 0;
  StoreIdentity identity_;
  ObjectId newest_;
  bool on_tmpfs_ = false;
  std::uint64_t buckets_made_ = 1;
};

}  // namespace tutti
