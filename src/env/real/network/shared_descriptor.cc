#include "env/real/network/shared_descriptor.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "env/network.h"
#include "env/real/network/mover.h"
#include "env/real/network/socket_mover.h"
#include "env/real/slow_copies.h"

namespace tutti {

namespace {

std::uint64_t length_of(std::span<const Segment> memory) {
  std::uint64_t total = 0;
  for (const Segment& segment : memory) total += segment.length;
  return total;
}

// Whether the kernel should fill them by a detour: they are long, and the first, as then mostly all, lies where it copies slowly.
bool calls_for_detour(Bytes offset, std::span<const Segment> into, std::uint64_t total) {
  constexpr std::uint64_t kLong = 4096;
  return !into.empty() && total / into.size() >= kLong && copies_slowly(into[0].address, offset.count());
}

}  // namespace

Result<std::uint64_t> read_by_detour(int fd, Bytes offset, std::span<const Segment> into,
                                     std::uint64_t total) {
  Detour detour;
  std::array<iovec, 64> parts;
  std::uint64_t done = 0;
  while (done < total) {
    const std::uint64_t at = offset.count() + done;
    std::byte* const between = detour.from(at);
    const ssize_t got =
        ::pread(fd, between, std::min<std::uint64_t>(Detour::kSize, total - done), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::from_errno(errno, "read from the server's file");
    if (got == 0) break;
    const std::size_t count = slice_segments(into, done, static_cast<std::uint64_t>(got), parts);
    const iovec from{between, static_cast<std::size_t>(got)};
    const ssize_t moved = ::process_vm_readv(::getpid(), parts.data(), count, &from, 1, 0);
    if (moved < 0 && errno == EFAULT) return Status::from_errno(errno, "read from the server's file");
    if (moved <= 0) break;
    done += static_cast<std::uint64_t>(moved);
  }
  return done;
}

SharedDescriptor::SharedDescriptor(FileDescriptor fd) : fd_(std::move(fd)) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0)
    longest_ = limit.rlim_cur == RLIM_INFINITY ? Bytes::max() : Bytes(limit.rlim_cur);
}

SharedDescriptor::~SharedDescriptor() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_length_);
}

std::span<const std::uint64_t> SharedDescriptor::words() const {
  struct stat info {};
  if (mapped_ == nullptr && ::fstat(fd_.get(), &info) == 0 && info.st_size > 0) {
    const auto length = static_cast<std::size_t>(info.st_size);
    void* base = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd_.get(), 0);
    if (base != MAP_FAILED) {
      mapped_ = base;
      mapped_length_ = length;
    }
  }
  return {static_cast<const std::uint64_t*>(mapped_), mapped_length_ / sizeof(std::uint64_t)};
}

Status SharedDescriptor::write(Bytes offset, std::span<const Segment> from) const {
  const std::uint64_t total = length_of(from);
  if (total > longest_.count() || offset > longest_ - Bytes(total))
    return {Code::too_large, "write to the server's file: this process may not make files that long"};
  std::array<iovec, 64> parts;
  std::uint64_t done = 0;
  while (done < total) {
    const std::size_t count = slice_segments(from, done, total - done, parts);
    const ssize_t put = ::pwritev(fd_.get(), parts.data(), static_cast<int>(count),
                                  static_cast<off_t>(offset.count() + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return Status::from_errno(put < 0 ? errno : ENOSPC, "write to the server's file");
    done += static_cast<std::uint64_t>(put);
  }
  return {};
}

Result<Bytes> SharedDescriptor::read(Bytes offset, std::span<const Segment> into) const {
  const std::uint64_t total = length_of(into);
  std::uint64_t done = 0;
  if (calls_for_detour(offset, into, total)) {
    const auto come = read_by_detour(fd_.get(), offset, into, total);
    if (!come.ok()) return come.status();
    done = *come;
  } else if (into.size() == 1) {
    // Most are one run that is there: without a list the kernel has less to check.
    const ssize_t got = ::pread(fd_.get(), reinterpret_cast<void*>(into[0].address), into[0].length,
                                static_cast<off_t>(offset.count()));
    if (got == static_cast<ssize_t>(into[0].length)) return Bytes(into[0].length);
  }
  std::array<iovec, 64> parts;
  while (done < total) {
    const std::size_t count = slice_segments(into, done, total - done, parts);
    const ssize_t got =
        ::preadv(fd_.get(), parts.data(), static_cast<int>(count), static_cast<off_t>(offset.count() + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::from_errno(errno, "read from the server's file");
    if (got == 0) break;
    done += static_cast<std::uint64_t>(got);
  }
  return Bytes(done);
}

}  // namespace tutti
