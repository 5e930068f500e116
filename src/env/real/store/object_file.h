// ObjectFile: an open object of a FileStore: its descriptor, what is known of it, and its mapping.
//
// Invariants. `length` is that of the object: what completed writes and truncates made it; the file may be
// longer while writes are under way, and is cut back by the last of them. Of an object that others write by themselves it
// is that of the file, when the store last looked, and nothing is cut back. `allocated` holds only ranges that
// certainly have pages on tmpfs: touching those through a mapping cannot fail for lack of space. A file is
// never cut below a range that is in use through a mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/extent.h"
#include "env/executor.h"
#include "env/real/file_descriptor.h"
#include "env/real/store/extent_set.h"
#include "env/rounds.h"
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
  // The place of a range of what is allocated, its pages brought in. Empty if they cannot be.
  std::span<std::byte> place(std::uint64_t offset, std::uint64_t length, const ExtentSet& allocated);

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
  // Whether the range is part of the object, certainly has pages, and may be mapped now.
  bool may_be_mapped(const Extent& extent);
  // Sees to a mapping that reaches to `end`. False if there is none.
  bool map_up_to(std::uint64_t end);
  // Sets the length of the file. 0 or errno.
  int cut(std::uint64_t new_length);

  ObjectId id;
  FileDescriptor fd;
  std::uint64_t length;
  std::uint64_t reach = 0;  // how far writes under way may have made the file
  std::size_t writers = 0;  // writes under way that may change the length
  bool uncommitted;         // made by a write that has not completed
  bool unsynced = false;    // written since the last sync began
  std::shared_ptr<Rounds> syncs = std::make_shared<Rounds>();
  std::shared_ptr<const SharedFile> shared;  // made when first asked for
  std::uint64_t shared_key = 0;
  std::shared_ptr<const SharedFile> writable;  // the same for writing
  std::uint64_t writable_key = 0;
  ExtentSet allocated;
  Bytes placed_from;  // the bytes from here on lie there, as last asked
  DeviceStretch placed;
  std::shared_ptr<ObjectMapping> mapping;
  std::size_t map_users = 0;
  std::size_t shrinking = 0;  // truncates that wait for the users of the mapping; no new ones then
  Event unmapped;             // map_users is 0
};

// Holds ranges of a mapping in use. `Byte` is const for those who read only.
template <typename Byte>
class MappedRanges {
 public:
  // Those of the extents that can be used through a mapping now, from the first one on; none if the first cannot.
  MappedRanges(std::shared_ptr<ObjectFile> file, std::span<const Extent> extents);
  MappedRanges(const MappedRanges&) = delete;
  MappedRanges& operator=(const MappedRanges&) = delete;
  ~MappedRanges();
  [[nodiscard]] bool empty() const { return mapping_ == nullptr; }
  // One for each extent.
  [[nodiscard]] std::span<const std::span<Byte>> places() const {
    return many_.empty() ? std::span<const std::span<Byte>>(&first_, empty() ? 0 : 1) : many_;
  }

 private:
  std::shared_ptr<ObjectFile> file_;
  std::shared_ptr<ObjectMapping> mapping_;
  std::span<Byte> first_;              // the only one
  std::vector<std::span<Byte>> many_;  // all, if there are more
};

extern template class MappedRanges<std::byte>;
extern template class MappedRanges<const std::byte>;

}  // namespace tutti
