// Local writes: what a client writes by itself into a server's object that lies in memory on the same host, through a file
// that the server gave it.
//
// The server says when: in the answer to a write it may allow some bytes more, anywhere in the object and for a short time.
// Before the object is cut or removed a word in memory changes, which ends that: a writer that finds the word as it was told,
// before its first byte and after its last, and the server still there, knows that its bytes are in the object. Otherwise it
// asks, and the server writes them once more. What was written without asking is reported later, for the server's accounts.
// On the wire: `take`, `taken` (the file's key), `granted`, `mark`, `took` (the report).
#pragma once

#include <cstdint>
#include <memory>

#include "client/transfer/cut.h"
#include "env/channel.h"
#include "env/shared_runs.h"
#include "wire/messages.h"

namespace tutti {

// The local writes of one object.
class LocalWrites {
 public:
  // What a request on this connection says: the key of the file we have, that we have none yet, or 0: we cannot.
  std::uint64_t key(const std::shared_ptr<Channel>& channel);
  // Whether there is more to come: the object has been written before, or this is more than `small`.
  bool expects_more(const Piece& piece, Bytes small);
  // Takes over what the answer to a write that was asked at `asked` allows. `marks` are the server's words of change; null
  // if they did not come.
  void accept(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel,
              std::shared_ptr<const SharedFile> marks, Nanos asked);

  // Whether so many bytes may be written now without asking.
  [[nodiscard]] bool allowed(Bytes bytes, Nanos now) const;
  // Some of them, for write_runs().
  [[nodiscard]] SharedRun run(Bytes offset, const Segment& from) const { return {file_.get(), offset, from}; }
  // Whether it is worth asking for the first bytes alone, to be allowed the others: not if that was in vain lately.
  [[nodiscard]] bool may_be_allowed(Nanos now) const { return !hopeless_ && now >= try_again_; }
  void was_in_vain(Nanos now) { try_again_ = now + 1_s; }
  // After the last of them: whether they count. If not, nothing is allowed any more.
  [[nodiscard]] bool settled(Bytes bytes);
  void forbid() { left_ = 0_B; }

  // Of the object while it may be written: see server/data/era.h.
  [[nodiscard]] std::uint64_t era() const { return era_; }
  // What was written and not reported yet; it counts as reported afterwards.
  wire::Took report();
  // Where to report it without a request. Null if the connection is gone.
  [[nodiscard]] std::shared_ptr<Channel> channel() const { return channel_.lock(); }

 private:
  [[nodiscard]] bool unchanged() const;

  std::shared_ptr<SharedMap> file_;
  std::shared_ptr<const SharedFile> marks_;
  std::uint64_t key_ = 0;
  std::weak_ptr<Channel> channel_;  // keys count on the connection that brought the file
  bool hopeless_ = false;           // it did not arrive: not asked for again
  bool written_before_ = false;
  Bytes left_;  // so many bytes; 0: none
  Nanos until_;
  Nanos try_again_;
  std::uint32_t mark_ = 0;
  std::uint64_t mark_value_ = 0;
  std::uint64_t era_ = 0;
  Bytes written_;  // and not reported yet
  std::uint64_t writes_ = 0;
};

}  // namespace tutti
