// ObjectFile: an open object of a FileStore: its descriptor, what is known of it, and its mapping.
//
// Invariants. `length` is that of the object: what completed writes and truncates made it; the file may be
// longer while writes are under way, and is cut back by the last of them. `allocated` holds only ranges that
// certainly have pages on tmpfs: touching those through a mapping cannot fail for lack of space. A file is
// never cut below a range that is in use through a mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "env/executor.h"
#include "env/real/store/extent_set.h"
#include "env/real/file_descriptor.h"
#include "env/shared_file.h"
#include "env/store.h"
#include "env/sync.h"

namespace tutti {

// The file from its start, for a length of the window that may reach past the end of the file.
class ObjectMapping {
 public:
  // Null if the kernel has no address space left.
  static std::shared_ptr<ObjectMapping> make(int fd, std::uint64_t window);
  ObjectMapping(const ObjectMapping&) = delete;
  ObjectMapping& operator=(const ObjectMapping&) = delete;
  ~ObjectMapping();

  [[nodiscard]] std::uint64_t window() const { return window_; }
  // The place of an allocated range, its pages brought in. Empty if they cannot be.
  std::span<std::byte> place(std::uint64_t offset, std::uint64_t length);

 private:
  ObjectMapping(std::byte* base, std::uint64_t window) : base_(base), window_(window) {}
  std::byte* base_;
  std::uint64_t window_;
  ExtentSet present_;
};

class ObjectFile {
 public:
  ObjectFile(Executor& executor, ObjectId object, FileDescriptor fd, std::uint64_t length, bool created)
      : id(object), fd(std::move(fd)), length(length), uncommitted(created), unmapped(executor) {
    unmapped.set();
  }

  // Notes that a range has been written, so that it has pages.
  void note_allocated(std::uint64_t offset, std::uint64_t count);
  // Whether all of the range certainly has pages; asks the file system if that is not known.
  bool is_allocated(std::uint64_t offset, std::uint64_t count);
  // Sets the length of the file. 0 or errno.
  int cut(std::uint64_t new_length);

  ObjectId id;
  FileDescriptor fd;
  std::uint64_t length;
  std::uint64_t reach = 0;                   // how far writes under way may have made the file
  std::size_t writers = 0;                   // writes under way that may change the length
  bool uncommitted;                          // made by a write that has not completed
  std::shared_ptr<const SharedFile> shared;  // made when first asked for
  std::uint64_t shared_key = 0;
  ExtentSet allocated;
  std::shared_ptr<ObjectMapping> mapping;
  std::size_t map_users = 0;
  std::size_t shrinking = 0;  // truncates that wait for the users of the mapping; no new ones then
  Event unmapped;             // map_users is 0
};

// Holds a range of a mapping in use.
class MappedRange {
 public:
  // Not valid() if the range cannot be used through a mapping now.
  MappedRange(std::shared_ptr<ObjectFile> file, std::uint64_t offset, std::uint64_t length);
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;
  ~MappedRange();
  [[nodiscard]] bool valid() const { return mapping_ != nullptr; }
  [[nodiscard]] std::span<std::byte> place() const { return place_; }

 private:
  std::shared_ptr<ObjectFile> file_;
  std::shared_ptr<ObjectMapping> mapping_;
  std::span<std::byte> place_;
};

}  // namespace tutti
