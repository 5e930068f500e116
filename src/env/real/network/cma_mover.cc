#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <type_traits>

#include "env/real/network/mover.h"
#include "env/real/network/socket_mover.h"
#include "env/real/slow_copies.h"

namespace tutti {
namespace {

constexpr std::size_t kMostSegments = 1024;  // IOV_MAX of the kernel

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

bool calls_for_detour(const iovec& local, const iovec& remote) {
  constexpr std::size_t kLong = 32768;  // a call for each costs more than the slow copy of less
  return local.iov_len >= kLong && remote.iov_len >= kLong &&
         copies_slowly(reinterpret_cast<std::uintptr_t>(remote.iov_base),
                       reinterpret_cast<std::uintptr_t>(local.iov_base));
}

// Writes the begin of `local` to that of `remote` by way of memory that lies better. The kernel copies there too: it reports memory of
// a file that was cut meanwhile. As process_vm_writev.
ssize_t write_by_detour(pid_t pid, const iovec& local, const iovec& remote) {
  Detour detour;
  const iovec begin{local.iov_base, std::min({local.iov_len, remote.iov_len, Detour::kSize})};
  iovec between{detour.from(reinterpret_cast<std::uintptr_t>(local.iov_base)), begin.iov_len};
  const ssize_t copied = ::process_vm_readv(::getpid(), &between, 1, &begin, 1, 0);
  if (copied <= 0) return copied;
  between.iov_len = static_cast<std::size_t>(copied);
  return ::process_vm_writev(pid, &between, 1, &remote, 1, 0);
}

}  // namespace

Status CmaMover::allowed(const Peer& peer) {
  if (peer.uid == ::geteuid()) return {};
  return {Code::unsupported,
          fmt::format("{} is of another user than this process ({})", peer.name, ::geteuid())};
}

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
    ssize_t moved = 0;
    if (kWay == Way::from_peer) {
      moved = ::process_vm_readv(pid_, local.data(), near, remote.data(), far, 0);
    } else if (calls_for_detour(local[0], remote[0])) {
      moved = write_by_detour(pid_, local[0], remote[0]);
    } else {
      moved = ::process_vm_writev(pid_, local.data(), near, remote.data(), far, 0);
    }
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
