// Local reads: what a client copies by itself out of a server's object that lies in memory on the same host, from a file
// that the server gave it.
//
// The server says when: in the answer to a read, for the bytes of that read; and to a client that reads an object again
// and again, for some bytes more as well, wherever they lie in it and for a short time: they are *allowed ahead*. What was
// read ahead without asking is reported later, for the server's accounts. On the wire: `take`, `taken` (the file's key), `granted` (allowed ahead), `took` (the report).
#pragma once

#include <cstdint>
#include <memory>

#include "client/transfer/cut.h"
#include "env/channel.h"
#include "env/shared_file.h"
#include "wire/messages.h"

namespace tutti {

// The local reads of one object.
class LocalReads {
 public:
  // What a request on this connection says: the key of the file we have, that we have none yet, or 0: we cannot.
  std::uint64_t key(const std::shared_ptr<Channel>& channel);
  // Whether there is more to come: the object has been read before, or this is the begin of it and more than `small`.
  bool expects_more(const Piece& piece, Bytes small);
  // Whether anything may be read without asking, if there is time for it still.
  [[nodiscard]] bool allowed_ahead() const { return ahead_left_ != 0_B; }
  // Reads the piece without asking, if that is allowed ahead.
  bool read_ahead(const Piece& piece, Nanos now);
  // The same in parts, for who reads several objects in turns: whether these bytes are allowed ahead; some of them, false if
  // they are not all there; and, when all are read, that they were.
  [[nodiscard]] bool allowed_ahead(std::span<const Extent> extents, Bytes length, Nanos now);
  [[nodiscard]] bool read_allowed(Bytes offset, Bytes length, std::span<const Segment> into);
  void count_allowed(Bytes length);
  // Whether it is worth asking for the first bytes alone, to be allowed the others: not if that was in vain lately.
  [[nodiscard]] bool may_be_allowed(Nanos now) const { return !hopeless_ && now >= try_again_; }
  void was_in_vain(Nanos now) { try_again_ = now + 1_s; }
  // Takes over the file that the answer speaks of, if it is another than the one we have. False if it did not come:
  // then key() is 0 from now on, and the server is to be asked again.
  bool accept(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel);
  // Reads the piece as the answer to a request made at `asked` lets us, after accept(). Sets `short_read` if there is
  // less; what is missing is zeros.
  Status read(const Piece& piece, const wire::TransferReply& reply, Nanos asked, bool& short_read);

  // Whether the last read() found less than the server had said: the object was cut in between.
  [[nodiscard]] bool cut_meanwhile() const { return cut_meanwhile_; }

  // What was read ahead and not reported yet; it counts as reported afterwards.
  wire::Took report();
  // Where to report it without a request. Null if the connection is gone.
  [[nodiscard]] std::shared_ptr<Channel> channel() const { return channel_.lock(); }

 private:
  void allow_ahead(const wire::TransferReply& reply, Nanos asked);
  void forbid_ahead() { ahead_left_ = 0_B; }

  std::shared_ptr<const SharedFile> file_;
  std::uint64_t key_ = 0;
  std::weak_ptr<Channel> channel_;  // keys count on the connection that brought the file
  bool hopeless_ = false;           // it did not arrive: not asked for again
  bool read_before_ = false;
  bool cut_meanwhile_ = false;
  Bytes ahead_left_;  // so many bytes; 0: nothing is allowed ahead
  Bytes ahead_end_;   // below this offset
  Nanos ahead_until_;
  Nanos try_again_;
  wire::Took unreported_;
};

}  // namespace tutti
