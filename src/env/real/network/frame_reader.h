// FrameReader: the receiving half of a connection: a reused buffer that hands out frames as views.
//
// The body of a bulk frame does not pass through the buffer, but for the first few bytes: it is read straight
// into the places that a BulkSink names. An encrypted one does.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "env/real/file_descriptor.h"
#include "env/real/network/frame.h"
#include "env/real/network/frame_guard.h"

namespace tutti {

// Knows where the bodies of bulk frames go.
class BulkSink {
 public:
  virtual ~BulkSink() = default;
  // Bytes at the start of the payload that the sink itself wants to see; nothing if the type is not a bulk
  // frame.
  [[nodiscard]] virtual std::optional<std::size_t> bulk_prefix(std::uint16_t type) const = 0;
  // A bulk frame starts. An error closes the connection.
  virtual Status begin_bulk(const FrameHeader& header, std::span<const std::byte> prefix) = 0;
  // Names places for the body from `at` on, for at most `length` bytes. None named: those bytes are dropped.
  virtual std::size_t bulk_places(std::size_t at, std::size_t length, std::span<iovec> places) = 0;
  virtual void end_bulk() = 0;
  // Whether bulk frames may come now; reads are then kept short, so that little of a body lands in the
  // buffer.
  [[nodiscard]] virtual bool expects_bulk() const = 0;
};

class FrameReader {
 public:
  // `limit`: the longest payload accepted for now.
  FrameReader(int fd, std::size_t limit) : fd_(fd), limit_(limit) {}

  void set_limit(std::size_t limit) { limit_ = limit; }
  // Every frame from now on has a tag, which is checked before the frame is handed out or a bulk frame ends.
  void protect(const AuthKey& key, Protection protection) { guard_.emplace(key, protection); }
  // On TCP: sleep through the arrival of a bulk frame until much of it is there.
  void batch_bulk() { batches_bulk_ = true; }
  // From now on descriptors that come along are kept; without it the kernel drops them.
  void take_files() { takes_files_ = true; }
  // The descriptor that came first, or an invalid one.
  FileDescriptor next_file();

  // The next whole frame in the buffer, if there is one. The view handed out before is no longer valid.
  // Bodies of bulk frames that are in the buffer go to the sink.
  Result<std::optional<Frame>> next(BulkSink& sink);

  // What the frame that was handed out last announces: FrameHeader::follows.
  [[nodiscard]] std::uint32_t follows() const { return follows_; }

  // Of the bodies of bulk frames, so far.
  [[nodiscard]] std::uint64_t bulk_bytes() const { return bulk_bytes_; }

  struct Filled {
    bool drained = false;  // the socket had no more
    bool end = false;      // the peer has closed
  };
  // Reads from the socket once. Code::unavailable if the connection is broken.
  Result<Filled> fill(BulkSink& sink);

 private:
  [[nodiscard]] std::size_t held() const { return end_ - begin_; }
  [[nodiscard]] std::span<std::byte> view(std::size_t from, std::size_t length) const {
    return {buffer_.get() + begin_ + from, length};
  }
  void make_room();
  Status take_bulk_from_buffer(BulkSink& sink);
  Status bulk_arrived(std::size_t count, BulkSink& sink);
  // Bytes that nobody but take_bulk_from_buffer() may put where they belong: what is on the wire is never seen there.
  [[nodiscard]] bool encrypted() const { return guard_ && guard_->encrypts(); }
  [[nodiscard]] std::size_t tag_length() const { return guard_ ? sizeof(FrameGuard::Tag) : 0; }
  // The end of a bulk frame is in the buffer: padding, then the tag.
  void take_trailer();
  void keep_files(msghdr& message);
  // Readable only when so many bytes are there.
  void sleep_until(std::size_t length);

  int fd_;
  std::size_t limit_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // multiple of 8 wherever a header starts
  std::size_t end_ = 0;
  std::size_t handed_ = 0;  // length of the frame that was handed out, at begin_
  std::uint32_t follows_ = 0;
  std::size_t wanted_ = 0;  // whole length of the frame at begin_, if it is known and not all here

  bool batches_bulk_ = false;
  int low_water_ = 1;
  bool takes_files_ = false;
  std::deque<FileDescriptor> files_;

  bool in_bulk_ = false;
  std::uint64_t bulk_bytes_ = 0;
  std::size_t bulk_at_ = 0;       // of the body
  std::size_t bulk_left_ = 0;     // of the body
  std::size_t trailer_left_ = 0;  // after it: padding and tag
  std::optional<FrameGuard> guard_;
  std::optional<FrameGuard::Frame> bulk_guard_;  // of the bulk frame that is coming
  FrameGuard::Tag tag_{};                        // that it must have
};

}  // namespace tutti
