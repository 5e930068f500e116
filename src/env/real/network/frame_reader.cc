#include "env/real/network/frame_reader.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t kFirstCapacity = 16U << 10U;
constexpr std::size_t kKeptCapacity = 256U
                                      << 10U;  // a larger buffer is given back after the frame that needed it
constexpr std::size_t kShortRead = 4U << 10U;
constexpr std::size_t kEncryptedRead = 64U << 10U;  // what stays in the cache until it is read
constexpr std::size_t kPlaces = 64;
// What may lie in a socket before its reader is woken: enough to be worth it, little enough to stay in the cache.
constexpr std::size_t kMostBatch = 256U << 10U;

Status altered() {
  return {Code::malformed, "a frame was altered on the way, or does not come from the peer"};
}

}  // namespace

Result<std::optional<Frame>> FrameReader::next(BulkSink& sink) {
  begin_ += handed_;
  handed_ = 0;
  wanted_ = 0;
  for (;;) {
    if (in_bulk_) TUTTI_TRY(take_bulk_from_buffer(sink));
    if (in_bulk_ || held() < sizeof(FrameHeader)) return std::optional<Frame>();
    const auto header = load<FrameHeader>(view(0, sizeof(FrameHeader)));
    TUTTI_TRY(check_header(header, limit_));
    const std::optional<std::size_t> prefix = sink.bulk_prefix(header.type);
    const std::size_t needed = sizeof(header) + (prefix ? *prefix : padded(header.length) + tag_length());
    if (prefix && header.length < *prefix) return Status(Code::malformed, "bulk frame that is too short");
    if (held() < needed) {
      wanted_ = needed;
      return std::optional<Frame>();
    }
    std::optional<FrameGuard::Frame> guard;
    if (guard_) {
      guard = guard_->begin();
      guard->add(view(0, sizeof(header)));
      const std::span<std::byte> payload = view(sizeof(header), prefix ? *prefix : header.length);
      guard->open(payload, payload.data());
    }
    if (!prefix) {
      if (guard && !guard->ends_with(load<FrameGuard::Tag>(view(needed - tag_length(), tag_length()))))
        return altered();
      handed_ = needed;
      follows_ = header.follows;
      return std::optional(Frame{header.type, header.id, view(sizeof(header), header.length)});
    }
    TUTTI_TRY(sink.begin_bulk(header, view(sizeof(header), *prefix)));
    begin_ += needed;  // both prefixes are multiples of 8
    in_bulk_ = true;
    bulk_guard_ = guard;
    bulk_at_ = 0;
    bulk_left_ = header.length - *prefix;
    trailer_left_ = padding(header.length) + tag_length();
    TUTTI_TRY(bulk_arrived(0, sink));
  }
}

Status FrameReader::take_bulk_from_buffer(BulkSink& sink) {
  std::array<iovec, kPlaces> places;
  while (in_bulk_ && held() > 0) {
    if (bulk_left_ == 0) {
      take_trailer();
      TUTTI_TRY(bulk_arrived(0, sink));
      continue;
    }
    const std::size_t most = std::min(bulk_left_, held());
    const std::size_t count = sink.bulk_places(bulk_at_, most, places);
    if (count == 0) places[0] = {view(0, most).data(), most};  // nobody wants it
    std::size_t taken = 0;
    for (std::size_t i = 0; i < std::max(count, std::size_t{1}); ++i) {
      const std::span<std::byte> part = view(taken, places[i].iov_len);
      auto* to = static_cast<std::byte*>(places[i].iov_base);
      if (bulk_guard_) {
        bulk_guard_->open(part, to);
      } else if (count > 0) {
        std::memcpy(to, part.data(), part.size());
      }
      taken += part.size();
    }
    begin_ += taken;
    TUTTI_TRY(bulk_arrived(taken, sink));
  }
  return {};
}

void FrameReader::take_trailer() {
  const std::size_t count = std::min(trailer_left_, held());
  for (std::size_t i = 0; i < count; ++i, --trailer_left_) {
    if (trailer_left_ <= tag_length()) tag_[sizeof(tag_) - trailer_left_] = buffer_[begin_ + i];
  }
  begin_ += count;
}

Status FrameReader::bulk_arrived(std::size_t count, BulkSink& sink) {
  bulk_bytes_ += count;
  bulk_at_ += count;
  bulk_left_ -= count;
  if (bulk_left_ > 0 || trailer_left_ > 0) return {};
  in_bulk_ = false;
  if (bulk_guard_ && !bulk_guard_->ends_with(tag_)) return altered();
  sink.end_bulk();
  return {};
}

// Inside a bulk frame the buffer is empty here: next() has passed on what it held.
void FrameReader::make_room() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (capacity_ > kKeptCapacity && wanted_ == 0) capacity_ = 0;
  }
  const std::size_t least = in_bulk_ && encrypted() ? kEncryptedRead : kFirstCapacity;
  const std::size_t needed = std::max(wanted_, least) + 8;
  if (capacity_ < needed) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(needed);
    if (held() > 0) std::memcpy(larger.get(), buffer_.get() + begin_, held());
    buffer_ = std::move(larger);
    capacity_ = needed;
  } else if (begin_ > 0 && (capacity_ - end_ < kShortRead || begin_ + wanted_ > capacity_)) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, held());
  } else {
    return;
  }
  end_ = held();
  begin_ = 0;
}

void FrameReader::keep_files(msghdr& message) {
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(each), sizeof(fd));  // the buffer has room for one
    files_.emplace_back(fd);
  }
}

FileDescriptor FrameReader::next_file() {
  if (files_.empty()) return {};
  FileDescriptor file = std::move(files_.front());
  files_.pop_front();
  return file;
}

Result<FrameReader::Filled> FrameReader::fill(BulkSink& sink) {
  make_room();
  std::array<iovec, kPlaces + 1> parts;
  std::size_t count = 0;
  std::size_t direct = 0;
  if (in_bulk_) {
    if (bulk_left_ > 0 && !encrypted())
      count = sink.bulk_places(bulk_at_, bulk_left_, std::span(parts).first(kPlaces));
    for (std::size_t i = 0; i < count; ++i) direct += parts[i].iov_len;
    // So that the next header lands on a multiple of 8.
    begin_ = end_ = padding(bulk_left_ - direct + trailer_left_);
  }
  // A body that is not wanted any more goes through the buffer and is dropped there; an encrypted one is read from there.
  std::size_t room = capacity_ - end_;
  if (sink.expects_bulk() && wanted_ < kShortRead && !(in_bulk_ && encrypted()))
    room = std::min(room, kShortRead);
  // What follows in the buffer starts after the body only if the places cover all of it.
  const bool with_buffer = count == 0 || direct == bulk_left_;
  if (with_buffer) parts[count++] = {buffer_.get() + end_, room};
  const std::size_t asked = direct + (with_buffer ? room : 0);

  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control;
  ssize_t got = 0;
  do {
    if (takes_files_) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
    }
    got = ::recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const bool with_file = got >= 0 && takes_files_ && message.msg_controllen > 0;
  if (with_file) keep_files(message);
  Filled filled;
  if (got < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return Status(Code::unavailable, Status::from_errno(errno, "receive from the peer").message());
    }
    filled.drained = true;
    return filled;
  }
  const auto length = static_cast<std::size_t>(got);
  filled.end = length == 0;
  // A read ends where a descriptor is attached, whatever follows it.
  filled.drained = length < asked && !with_file;
  const std::size_t to_places = std::min(direct, length);
  end_ += length - to_places;
  if (bulk_guard_) {
    std::size_t left = to_places;
    for (std::size_t i = 0; left > 0; ++i) {
      const std::size_t part = std::min(left, parts[i].iov_len);
      bulk_guard_->add({static_cast<const std::byte*>(parts[i].iov_base), part});
      left -= part;
    }
  }
  if (to_places > 0) TUTTI_TRY(bulk_arrived(to_places, sink));
  if (batches_bulk_) sleep_until(in_bulk_ ? bulk_left_ - std::min(bulk_left_, held()) : 1);
  return filled;
}

void FrameReader::sleep_until(std::size_t length) {
  const int wanted = static_cast<int>(std::clamp(length, std::size_t{1}, kMostBatch));
  if (wanted == low_water_) return;
  if (::setsockopt(fd_, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof(wanted)) == 0) low_water_ = wanted;
}

}  // namespace tutti
