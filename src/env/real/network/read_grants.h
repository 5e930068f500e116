// ReadGrants: how many servers may send bytes to this process at the same time. Pure.
//
// When more senders answer at once than the queue before a client's link holds, packets are lost, and the senders wait for
// their timers instead of sending: incast. Only the client sees all of them. So a server sends what was asked for only while it has
// the client's grant: without a word as long as nothing was lost; otherwise the client tells servers to wait, those last that it
// granted last, and grants in the order of asking when earlier ones have sent all.
//
// How many are granted at once follows the losses, as a sender's window does: half as many after a loss, at most once in a round,
// and one more after each round without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace tutti {

class ReadGrants {
 public:
  // One connection.
  class Holder {
   public:
    Holder() = default;
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    virtual ~Holder() = default;
    // The server is to wait with what it has not sent of a region, and may go on.
    virtual void hold(std::uint64_t region) = 0;
    virtual void grant(std::uint64_t region) = 0;
  };

  static constexpr std::size_t kLeast = 2;
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kRound = 16;  // frames of bytes

  // Bytes of a region are asked for. Tells the holder to let the server wait if they may not come at once.
  void ask(Holder& holder, std::uint64_t region);
  // A frame of bytes has come, and `losses` packets out of order since the last one: others before them were lost.
  void came(std::uint64_t losses);
  // All have come, or are not awaited any more. Whether the server was told to wait with them.
  bool done(const Holder& holder, std::uint64_t region);

  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] std::size_t granted() const { return granted_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Entry {
    Holder* holder;
    std::uint64_t region;
  };
  static bool take_out(std::deque<Entry>& from, const Holder& holder, std::uint64_t region);
  // As many are granted as may be, and no more.
  void settle();

  std::size_t limit_ = kMost;
  std::deque<Entry> granted_;  // in the order of asking, both
  std::deque<Entry> waiting_;
  std::size_t left_of_round_ = kRound;
  bool lowered_ = false;  // in this round: what is lost in it was sent before that
};

}  // namespace tutti
