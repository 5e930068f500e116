// FileStore: Store in a directory of a local file system, one file per object.
//
//   DIRECTORY/format                 version of the layout, and who the store is; the directory is locked while it is open
//   DIRECTORY/newest                 the highest id of all objects that were made here
//   DIRECTORY/losses                 which syncs failed: loss_record.h
//   DIRECTORY/objects/c4/00000000000001c4  the object with that id, below the low byte of the id
//
// On tmpfs an object is mapped and the mapping handed to Source and Sink, so that bytes move once. Elsewhere
// they pass through pooled buffers: inline when the page cache can take or give them without waiting, through
// io_uring otherwise. Belongs to the thread of its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "env/real/loop/loop.h"
#include "env/store.h"

namespace tutti {

struct FileStoreOptions {
  std::size_t open_files = 512;         // descriptors kept open; more while more are in use
  std::size_t buffers = 64;             // pooled pieces for file systems that are not mapped
  std::size_t buffer_size = 256 << 10;  // multiple of 4096
  bool map = true;                      // map objects on tmpfs
  bool io_uring = true;                 // without it, operations that must wait block the loop
  Log log;
};

class FileStore final : public Store {
 public:
  // Makes a store in a directory that does not exist (its parent does) or holds none, in an order that survives a crash
  // at any point: the format file comes last. Code::exists if there is something already.
  static Status create(const std::string& directory, const StoreIdentity& identity);
  // Gives a store of format version 1 this identity. Code::exists if it has one.
  static Status upgrade(const std::string& directory, const StoreIdentity& identity);
  // Code::not_found if there is no store, Code::version if it was written by another version of Tutti, Code::busy if
  // another process has it open.
  static Result<std::unique_ptr<FileStore>> open(Loop& loop, const std::string& directory,
                                                 FileStoreOptions options = {});
  ~FileStore() override;

  [[nodiscard]] StoreTraits traits() const override;
  using Store::read;
  using Store::write;
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) override;
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) override;
  Task<Status> truncate(ObjectId object, Bytes length) override;
  Task<Status> sync(ObjectId object) override;
  [[nodiscard]] std::uint64_t losses(ObjectId object) const override;
  Task<Status> remove(ObjectId object) override;
  Task<Result<std::optional<Bytes>>> length(ObjectId object) override;
  Task<Result<std::optional<Bytes>>> next_data(ObjectId object, Bytes offset) override;
  Task<void> prefetch(ObjectId object, std::span<const Extent> extents) override;
  Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) override;
  // Extents of open objects are remembered; what is in the page cache is not told apart.
  std::optional<DeviceStretch> probe(ObjectId object, Extent extent, bool write) override;
  Task<Result<std::vector<ObjectId>>> list() override;
  Result<StoreSpace> space() override;
  [[nodiscard]] bool cold(ObjectId object) const override;
  Task<void> warm(ObjectId object) override;
  SharedObject share(ObjectId object) override;
  WritableObject share_for_writing(ObjectId object) override;
  [[nodiscard]] const StoreIdentity& identity() const override;
  Status bind(const Uuid& metadata) override;
  [[nodiscard]] ObjectId newest() const override;

  // Whether objects are mapped (the directory is on tmpfs and the option is on).
  [[nodiscard]] bool mapped() const;

 private:
  class Impl;
  explicit FileStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti
