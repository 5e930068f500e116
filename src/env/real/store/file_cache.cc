#include "env/real/store/file_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace tutti {

Result<std::shared_ptr<ObjectFile>> FileCache::open(ObjectId object, bool create) {
  if (const auto found = files_.find(object.value); found != files_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return order_.front();
  }
  if (files_.size() >= limit_) close_idle(files_.size() - limit_ + 1);
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
    if (created) ++created_[ObjectDirectory::bucket(object)];
    if (fd >= 0 || attempt > 0 || (errno != EMFILE && errno != ENFILE)) return fd;
    close_idle(files_.size() / 2 + 1);  // somebody else needs descriptors too
  }
}

void FileCache::close_idle(std::size_t wanted) {
  for (auto each = order_.end(); wanted > 0 && each != order_.begin();) {
    --each;
    if (each->use_count() > 1) continue;
    files_.erase((*each)->id.value);
    each = order_.erase(each);
    --wanted;
  }
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
