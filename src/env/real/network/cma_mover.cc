#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <type_traits>

#include "env/real/network/mover.h"
#include "env/real/network/socket_mover.h"

namespace tutti {
namespace {

constexpr std::size_t kMostSegments = 1024;  // IOV_MAX of the kernel

// While it lives, the calling thread has the real and effective ids of the client, and root only as its saved
// id, so that the kernel's checks are the client's. The library's setresuid would change all threads: hence
// the raw calls.
class BorrowedIds {
 public:
  BorrowedIds(uid_t uid, gid_t gid) {
    if (::geteuid() != 0 || (uid == 0 && gid == 0)) return;
    old_gid_ = ::getgid();
    gid_taken_ = ::syscall(SYS_setresgid, gid, gid, -1) == 0;
    uid_taken_ = gid_taken_ && ::syscall(SYS_setresuid, uid, uid, 0) == 0;
    if (!uid_taken_) error_ = errno;
  }
  BorrowedIds(const BorrowedIds&) = delete;
  BorrowedIds& operator=(const BorrowedIds&) = delete;
  // Going on with somebody else's ids would be worse than to end here.
  ~BorrowedIds() {
    if (uid_taken_ && ::syscall(SYS_setresuid, 0, 0, 0) != 0) std::abort();
    if (gid_taken_ && ::syscall(SYS_setresgid, old_gid_, old_gid_, -1) != 0) std::abort();
  }
  // 0, or why the ids could not be taken.
  [[nodiscard]] int error() const { return error_; }

 private:
  gid_t old_gid_ = 0;
  bool uid_taken_ = false;
  bool gid_taken_ = false;
  int error_ = 0;
};

// The places behind the first `within` bytes, as far as `parts` reaches. Returns how many were written.
template <typename Byte>
std::size_t slice_places(std::span<const std::span<Byte>> places, std::size_t within,
                         std::span<iovec> parts) {
  std::size_t count = 0;
  for (const std::span<Byte> place : places) {
    if (count == parts.size()) break;
    // Of a place that is sent the kernel only reads.
    parts[count++] = {const_cast<std::byte*>(place.data()) + within, place.size() - within};
    within = 0;
  }
  return count;
}

}  // namespace

Status CmaMover::failure(Way way, int error) const {
  const char* what = way == Way::from_peer ? "read memory of" : "write memory of";
  switch (error) {
    case ESRCH:
      return {Code::unavailable, fmt::format("{} pid {}: the process is gone", what, pid_)};
    case EPERM:
      return {Code::permission,
              fmt::format("{} pid {} (uid {}): the kernel refuses; let bulk data use the socket", what, pid_,
                          uid_)};
    case EFAULT:
      return {Code::invalid, fmt::format("{} pid {}: the exposed memory is not (all) there", what, pid_)};
    default:
      return Status::from_errno(error, fmt::format("{} pid {}", what, pid_));
  }
}

// Both lists may be long: a call takes as many parts of each as the kernel allows, and moves what the shorter holds.
template <typename Byte>
Status CmaMover::move(const Region& region, Bytes offset, std::span<const std::span<Byte>> places) const {
  constexpr Way kWay = std::is_const_v<Byte> ? Way::to_peer : Way::from_peer;
  if (region.ends.size() != region.segments.size()) {
    Region indexed{region.id, region.segments, {}};
    TUTTI_TRY(indexed.index());
    return move(indexed, offset, places);
  }
  const std::size_t length = length_of(places);
  const std::uint64_t total = region.ends.empty() ? 0 : region.ends.back();
  if (offset.count() > total || length > total - offset.count()) {
    return {Code::invalid, fmt::format("move {} bytes at {} of region {}, which is {} long", length,
                                       offset.count(), region.id, total)};
  }
  const BorrowedIds ids(uid_, gid_);
  if (ids.error() != 0) return Status::from_errno(ids.error(), fmt::format("take the ids of uid {}", uid_));
  std::array<iovec, kMostSegments> remote;
  std::array<iovec, kMostSegments> local;
  std::size_t within = 0;  // the first of the places, whose begin has been moved
  for (std::size_t done = 0; done < length;) {
    const std::uint64_t at = offset.count() + done;
    const auto first = static_cast<std::size_t>(std::upper_bound(region.ends.begin(), region.ends.end(), at) -
                                                region.ends.begin());
    const std::uint64_t before = first == 0 ? 0 : region.ends[first - 1];
    const std::size_t far =
        slice_segments(std::span(region.segments).subspan(first), at - before, length - done, remote);
    const std::size_t near = slice_places(places, within, local);
    const ssize_t moved = kWay == Way::from_peer
                              ? ::process_vm_readv(pid_, local.data(), near, remote.data(), far, 0)
                              : ::process_vm_writev(pid_, local.data(), near, remote.data(), far, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return failure(kWay, moved < 0 ? errno : EFAULT);
    done += static_cast<std::size_t>(moved);
    within += static_cast<std::size_t>(moved);
    while (!places.empty() && within >= places.front().size()) {
      within -= places.front().size();
      places = places.subspan(1);
    }
  }
  return {};
}

Task<Status> CmaMover::pull(const Region& from, Bytes offset, Places into) {
  co_return move(from, offset, into);
}

Task<Status> CmaMover::push(ConstPlaces from, const Region& to, Bytes offset) {
  co_return move(to, offset, from);
}

Status CmaMover::probe(std::uint64_t address, std::span<std::byte> into) const {
  const Region region{0, {Segment{address, into.size()}}};
  return move(region, Bytes(0), only(into));
}

}  // namespace tutti
