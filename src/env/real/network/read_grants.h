// ReadGrants: how many servers may send bytes to this process at the same time. Pure.
//
// When more senders answer at once than the queue before a client's link holds, packets are lost, and the senders wait for
// their timers instead of sending: incast. Only the client sees all of them. So a server sends what was asked for only while it has
// the client's grant: the client tells servers to wait, those last that it granted last, and grants in the order of asking. A server
// that has sent a region gives way to those that wait.
//
// A server is granted as a whole, never single regions: in which order it sends what it was asked for is its own affair, and a
// region that it must not send would hold up those behind it that it may.
//
// How many are granted at once follows the losses, as a sender's window does: few at first, and twice as many again and again until
// something is lost; half as many after a loss, but not again before what was under way has come, and one more after each round
// without one. Two senders fill most links, so there is no hurry with more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace tutti {

class ReadGrants {
 public:
  // One connection. It must be done with all that it asked for before it goes.
  class Holder {
   public:
    Holder() = default;
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    virtual ~Holder() = default;
    // The server is to wait with all that it has not sent, and may go on.
    virtual void hold() = 0;
    virtual void grant() = 0;

   private:
    friend class ReadGrants;
    std::size_t asked_ = 0;  // regions that are awaited
  };

  static constexpr std::size_t kLeast = 2;
  static constexpr std::size_t kFirst =
      4;  // whose first ten packets of 1,500 bytes fit into a queue of 64 KiB
  static constexpr std::size_t kMost = 64;
  // Frames of bytes: after a loss until the next one counts, and without any until the limit doubles; then until it rises by one.
  static constexpr std::size_t kSettle = 16;
  static constexpr std::size_t kRound = 64;

  // Bytes of one more region are asked for. Tells the holder to let the server wait if they may not come at once.
  void ask(Holder& holder);
  // A frame of bytes has come, and `losses` packets out of order since the last one: others before them were lost.
  void came(std::uint64_t losses);
  // All bytes of a region have come, or are not awaited any more. A server of which nothing is awaited need not wait.
  void done(Holder& holder);
  // Nothing has come for a while: those that have grants give way to those that wait.
  void quiet();

  [[nodiscard]] std::uint64_t frames() const { return frames_; }  // that have come
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] std::size_t granted() const { return granted_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  // As many are granted as may be, and no more.
  void settle();

  // A holder of which something is awaited stands in one of them, once; the others in none.
  std::deque<Holder*> granted_;  // in the order of asking, both
  std::deque<Holder*> waiting_;
  std::uint64_t frames_ = 0;
  std::size_t limit_ = kFirst;
  std::size_t left_of_round_ = kSettle;
  bool lossless_ = true;  // nothing was lost so far
  bool lowered_ = false;  // just now: what is lost was sent before that
};

}  // namespace tutti
