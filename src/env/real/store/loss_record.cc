#include "env/real/store/loss_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tutti {
namespace {

// The first entry is for all objects; the others end with the first count of 0.
struct Stored {
  std::uint64_t object;
  std::uint64_t count;
};
using Table = std::array<Stored, 1 + LossRecord::kMostObjects>;

}  // namespace

Result<LossRecord> LossRecord::open(int directory, const std::string& path) {
  LossRecord record(FileDescriptor(::openat(directory, "losses", O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
                    path + "/losses");
  if (!record.file_.valid()) return Status::from_errno(errno, "open " + record.path_);
  TUTTI_TRY(record.load());
  return record;
}

Status LossRecord::load() {
  Table table{};
  const ssize_t length = ::pread(file_.get(), table.data(), sizeof(table), 0);
  if (length < 0) return Status::from_errno(errno, "read " + path_);
  if (length < static_cast<ssize_t>(sizeof(table))) return store();
  all_ = table[0].count;
  for (std::size_t i = 1; i < table.size() && table[i].count > 0; ++i)
    objects_[ObjectId{table[i].object}] = table[i].count;
  return {};
}

Status LossRecord::store() const {
  Table table{};
  table[0].count = all_;
  std::size_t next = 1;
  for (const auto& [object, count] : objects_) table[next++] = {object.value, count};
  if (::pwrite(file_.get(), table.data(), sizeof(table), 0) != static_cast<ssize_t>(sizeof(table)) ||
      ::fsync(file_.get()) != 0) {
    return Status::from_errno(errno, "write " + path_);
  }
  return {};
}

std::uint64_t LossRecord::count(ObjectId object) const {
  if (objects_.empty()) return all_;
  const auto found = objects_.find(object);
  return all_ + (found == objects_.end() ? 0 : found->second);
}

Status LossRecord::note(ObjectId object) {
  if (!objects_.contains(object) && objects_.size() == kMostObjects) {
    std::uint64_t most = 0;
    for (const auto& [other, count] : objects_) most = std::max(most, count);
    all_ += most;
    objects_.clear();
  }
  ++objects_[object];
  return store();
}

}  // namespace tutti
