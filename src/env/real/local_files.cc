#include "env/real/local_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace tutti {

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status write_all(int fd, std::span<const std::byte> bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::from_errno(errno, fmt::format("write {}", what));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status pwrite_all(int fd, std::span<const std::byte> bytes, std::uint64_t offset, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::from_errno(errno, fmt::format("write {}", what));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<std::size_t> pread_full(int fd, std::span<std::byte> buffer, std::uint64_t offset,
                               std::string_view what) {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t count =
        ::pread(fd, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::from_errno(errno, fmt::format("read {}", what));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace tutti
