#include "env/real/store/file_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t kUnsyncedShare = 4;

}  // namespace

Result<std::shared_ptr<ObjectFile>> FileCache::open(ObjectId object, bool create) {
  if (const auto found = files_.find(object.value); found != files_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return order_.front();
  }
  make_room();
  bool created = false;
  FileDescriptor fd(open_descriptor(object, create, created));
  if (!fd.valid() && errno == ENOENT && !create) return std::shared_ptr<ObjectFile>();
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return Status::from_errno(
        errno, fmt::format("open object {:016x} ({})", object.value, directory_.path_of(object)));
  }
  order_.push_front(std::make_shared<ObjectFile>(executor_, object, std::move(fd),
                                                 static_cast<std::uint64_t>(info.st_size), created));
  files_.emplace(object.value, order_.begin());
  return order_.front();
}

int FileCache::open_descriptor(ObjectId object, bool create, bool& created) {
  for (int attempt = 0;; ++attempt) {
    int fd = directory_.open_object(object, O_RDWR);
    if (fd < 0 && errno == ENOENT && create) {
      fd = directory_.open_object(object, O_RDWR | O_CREAT | O_EXCL);
      created = fd >= 0;
    }
    if (created) ++changed_[ObjectDirectory::bucket(object)];
    if (fd >= 0 || attempt > 0 || (errno != EMFILE && errno != ENFILE)) return fd;
    close_idle(files_.size() / 2 + 1, true);  // somebody else needs descriptors too
  }
}

void FileCache::make_room() {
  if (files_.size() < limit_) return;
  if (close_idle(files_.size() - limit_ + 1, false) > 0 || files_.size() < kUnsyncedShare * limit_) return;
  close_idle(files_.size() - kUnsyncedShare * limit_ + 1, true);
}

// Returns how many it closed; those with unsynced writes only if they are not to be spared.
std::size_t FileCache::close_idle(std::size_t wanted, bool unsynced) {
  const std::size_t before = files_.size();
  for (auto each = order_.end(); before - files_.size() < wanted && each != order_.begin();) {
    --each;
    if (each->use_count() > 1 || ((*each)->unsynced && !unsynced)) continue;
    files_.erase((*each)->id.value);
    each = order_.erase(each);
  }
  return before - files_.size();
}

std::shared_ptr<ObjectFile> FileCache::find(ObjectId object) const {
  const auto found = files_.find(object.value);
  return found == files_.end() ? nullptr : *found->second;
}

void FileCache::forget(ObjectId object) {
  const auto found = files_.find(object.value);
  if (found == files_.end()) return;
  order_.erase(found->second);
  files_.erase(found);
}

void FileCache::clear() {
  files_.clear();
  order_.clear();
}

}  // namespace tutti
