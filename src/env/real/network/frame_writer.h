// FrameWriter: the sending half of a connection.
//
// Ordinary frames are written at once, or copied and queued when the socket is full. Bulk frames are written
// straight from the caller's memory, who waits until the kernel has taken them; one at a time, in order, and
// never inside another frame. A bulk frame whose sender is destroyed half way is completed with zeros, so
// that the stream stays whole; its tag is that of what went out. Where frames are encrypted, that is a copy, which goes out
// whatever becomes of the sender.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "env/real/loop/loop.h"
#include "env/real/network/frame.h"
#include "env/real/network/frame_guard.h"
#include "env/scope.h"
#include "env/sync.h"
#include "env/task.h"

namespace tutti {

class FrameWriter {
 public:
  // `fd` is non-blocking and watched by `watch`; both outlive the writer's use.
  FrameWriter(Loop& loop, int fd, FdWatch& watch, std::size_t queue_limit);

  // Every frame from now on has a tag, and is encrypted if that is asked for.
  void protect(const AuthKey& key, Protection protection) { guard_.emplace(key, protection); }

  // Never waits. Code::unavailable when the peer is gone or does not read. `follows`: a region whose bytes the caller sends
  // next, at once.
  Status send(std::uint16_t type, std::uint64_t id, std::span<const std::byte> payload,
              std::uint32_t follows = 0);

  // Sends an empty frame and a descriptor with it, if nothing is queued; false if it cannot be done now.
  bool send_file(std::uint16_t type, std::uint64_t id, int file);

  // Waits until the socket has taken all of it. `memory` must stay valid until then or until this is
  // destroyed. The frame's payload is `prefix`, `memory`, `suffix`; the two small ones are copied. `more`: another frame
  // is sent soon, and the peer needs this one only with that.
  Task<Status> send_bulk(std::uint16_t type, std::uint64_t id, std::vector<std::byte> prefix,
                         std::vector<iovec> memory, std::vector<std::byte> suffix, bool more = false);

  // Of bulk frames, that the socket has taken so far.
  [[nodiscard]] std::uint64_t bulk_bytes() const { return bulk_bytes_; }

  // Writes what the socket takes without waiting, for a connection about to be closed.
  void flush_once();
  // Ends every waiting operation and refuses new ones with `status`.
  void fail(Status status);
  [[nodiscard]] const Status& failed() const { return failed_; }
  // Whether it failed because the peer left too much unread.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  struct BulkTurn;
  class SealedTurn;
  Task<Status> send_encrypted(std::span<const iovec> parts, std::size_t length);
  Status enqueue(std::span<const iovec> parts);
  Status flush_queue();
  void start_flushing();
  Task<void> flush_when_writable();
  [[nodiscard]] std::size_t queued() const { return queue_.size() - queue_start_; }
  [[nodiscard]] bool idle() const { return !bulk_under_way_ && zeros_owed_ == 0 && queued() == 0; }

  Loop& loop_;
  int fd_;
  FdWatch& watch_;
  std::size_t queue_limit_;
  std::optional<FrameGuard> guard_;
  Status failed_;
  bool overflowed_ = false;

  std::vector<std::byte> queue_;  // whole frames, from queue_start_
  std::size_t queue_start_ = 0;
  std::size_t zeros_owed_ = 0;   // the rest of an abandoned bulk frame; goes before the queue
  bool bulk_under_way_ = false;  // part of a bulk frame is written, the rest goes before all else
  std::uint64_t bulk_bytes_ = 0;
  bool flushing_ = false;
  Semaphore bulk_turn_;
  Event flushed_;  // nothing is queued
  Scope scope_;
};

}  // namespace tutti
