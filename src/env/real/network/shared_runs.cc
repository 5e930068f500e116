#include "env/shared_runs.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <vector>

namespace tutti {
namespace {

constexpr std::size_t kRunsInACall = 1024;  // the kernel takes no more
// Longer ones are no faster by the call for many: the kernel looks up every page of both sides.
constexpr std::uint64_t kLongestRun = 8192;

// Those that lie behind each other go in one call.
Status write_one_by_one(std::span<const SharedRun> runs) {
  std::vector<Segment> from;
  for (std::size_t i = 0; i < runs.size();) {
    const SharedRun& first = runs[i];
    Bytes end = first.offset;
    from.clear();
    for (; i < runs.size() && runs[i].to == first.to && runs[i].offset == end; ++i) {
      from.push_back(runs[i].from);
      end += Bytes(runs[i].from.length);
    }
    TUTTI_TRY(first.to->file().write(first.offset, from));
  }
  return {};
}

// The files of one list of runs, each looked at when it is first met.
class MappedFiles {
 public:
  // False: write them another way, whatever is there already.
  bool write(std::span<const SharedRun> runs) {
    static std::atomic<bool> refused = false;  // by the kernel, or by whoever filters calls to it
    if (runs.size() < 2 || refused.load(std::memory_order_relaxed)) return false;
    std::uint64_t total = 0;
    for (const SharedRun& run : runs) total += run.from.length;
    if (total > runs.size() * kLongestRun) return false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const SharedRun& run = runs[i];
      const std::span<std::byte> file = bytes_of(run.to);
      if (run.offset.count() > file.size() || run.from.length > file.size() - run.offset.count())
        return false;
      from_[i] = {reinterpret_cast<void*>(run.from.address), run.from.length};
      to_[i] = {file.data() + run.offset.count(), run.from.length};
    }
    const ssize_t put =
        ::process_vm_writev(::getpid(), from_.data(), runs.size(), to_.data(), runs.size(), 0);
    if (put < 0 && errno != EFAULT) refused.store(true, std::memory_order_relaxed);
    return put == static_cast<ssize_t>(total);
  }

 private:
  struct Known {
    SharedMap* map;
    std::span<std::byte> bytes;
  };
  std::span<std::byte> bytes_of(SharedMap* map) {
    if (last_ < known_.size() && known_[last_].map == map) return known_[last_].bytes;
    for (last_ = 0; last_ < known_.size(); ++last_) {
      if (known_[last_].map == map) return known_[last_].bytes;
    }
    known_.push_back({map, map->bytes()});
    return known_.back().bytes;
  }

  std::vector<Known> known_;
  std::size_t last_ = 0;
  std::array<iovec, kRunsInACall> from_, to_;
};

}  // namespace

SharedMap::~SharedMap() {
  if (base_ != nullptr) ::munmap(base_, mapped_);
}

// Never more than the file has: what is behind its end in the last page would be lost without a word.
std::span<std::byte> SharedMap::bytes() {
  struct stat info {};
  if (::fstat(file_->descriptor(), &info) != 0 || info.st_size <= 0) return {};
  const auto length = static_cast<std::size_t>(info.st_size);
  if (length > mapped_) {
    void* base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file_->descriptor(), 0);
    if (base == MAP_FAILED) return {};
    ::madvise(base, length, MADV_DONTFORK);
    if (base_ != nullptr) ::munmap(base_, mapped_);
    base_ = static_cast<std::byte*>(base);
    mapped_ = length;
  }
  return {base_, length};
}

Status write_runs(std::span<const SharedRun> runs) {
  MappedFiles files;
  while (!runs.empty()) {
    const std::span<const SharedRun> some = runs.first(std::min(runs.size(), kRunsInACall));
    if (!files.write(some)) TUTTI_TRY(write_one_by_one(some));
    runs = runs.subspan(some.size());
  }
  return {};
}

}  // namespace tutti
