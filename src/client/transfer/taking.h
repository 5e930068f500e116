// Taking: what a client reads of one server's object by itself, from a file that the server has given it.
//
// The server says when: in the answer to a read, for the bytes of that read, and to one who reads on for what comes next
// as well, for a short time (a grant). What is taken under a grant is told later, for the server's accounts.
#pragma once

#include <cstdint>
#include <memory>

#include "client/transfer/pieces.h"
#include "env/channel.h"
#include "env/shared_file.h"
#include "wire/messages.h"

namespace tutti {

class Taking {
 public:
  // The `take` of a request on this connection: the key of the file we have, that we have none yet, or 0: we cannot.
  std::uint64_t key(const std::shared_ptr<Channel>& channel);
  // Whether a read of the piece goes on where the last one ended. The next one is compared with this.
  bool reads_on(const Piece& piece);
  // Reads the piece without asking, if that is granted.
  bool take_granted(const Piece& piece, Nanos now);
  // Reads what the answer to a request made at `asked` lets us take. Sets `short_read` if there is less; what is missing
  // is zeros. Code::busy if the server's file did not come: to be asked for in another way.
  Status take(const Piece& piece, const wire::TransferReply& reply, Nanos asked,
              const std::shared_ptr<Channel>& channel, bool& short_read);

  // What was taken without asking and not told yet; it counts as told afterwards.
  wire::Took tell();
  // Where to tell it without a request. Null if the connection is gone.
  [[nodiscard]] std::shared_ptr<Channel> channel() const { return channel_.lock(); }

 private:
  std::shared_ptr<const SharedFile> file_;
  std::uint64_t key_ = 0;
  std::weak_ptr<Channel> channel_;  // keys count on the connection that brought the file
  bool hopeless_ = false;           // it did not arrive: not asked for again
  Bytes next_;                      // where a read begins that goes on
  Bytes granted_begin_;
  Bytes granted_end_;  // 0: nothing is granted
  Nanos granted_until_;
  wire::Took took_;
};

}  // namespace tutti
