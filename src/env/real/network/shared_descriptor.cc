#include "env/real/network/shared_descriptor.h"

#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "env/network.h"
#include "env/real/network/mover.h"
#include "env/real/network/socket_mover.h"

namespace tutti {

Result<Bytes> SharedDescriptor::read(Bytes offset, std::span<const Segment> into) const {
  std::uint64_t total = 0;
  for (const Segment& segment : into) total += segment.length;
  std::array<iovec, 64> parts;
  std::uint64_t done = 0;
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
