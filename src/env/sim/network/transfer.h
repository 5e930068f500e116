// Transfer: one pull or push over a simulated link. Used by link.cc and connection.cc only.
#pragma once

#include <array>
#include <coroutine>

#include "env/sim/network/link.h"

namespace tutti::sim {

// An awaiter that lives in the frame of the operation: destroying the frame takes the chunks off the wire
// (their time stays charged) and the memory is free. A few chunks are under way at a time, each launched when
// an earlier one has arrived, so that flows share cards at both ends.
class Transfer {
 public:
  // `memory` is filled by a pull and sent by a push; a push never writes to it.
  Transfer(Link& link, std::size_t side, bool pull, std::uint64_t region, Bytes offset, std::byte* memory,
           std::size_t length);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() { unlink(); }

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle);
  Status await_resume() { return std::move(result_); }

  // Ends all that were started at this end with Code::unavailable, from the run queue.
  static void fail_all(End& end);

 private:
  static constexpr std::size_t kLanes = 4;
  struct Lane : Hop {
    explicit Lane(Delivered delivered) : Hop(delivered) {}
    Transfer* owner = nullptr;
    std::size_t length = 0;
  };
  static void asked(Hop* hop);
  static void chunk_arrived(Hop* hop);

  Status check();
  void start_chunks();
  void launch(Lane& lane);
  bool copy(std::size_t length);
  void finish(Status result);
  void unlink();

  LinkRef link_;
  std::size_t side_;
  bool pull_;
  std::uint64_t region_;
  Bytes offset_;
  std::byte* memory_;
  std::size_t length_;
  std::size_t launched_ = 0;
  std::size_t arrived_ = 0;
  std::size_t segment_ = 0;   // cursor in the region's segments
  std::uint64_t within_ = 0;  // and in that segment
  bool ended_ = false;
  Status result_;
  Resume resume_;
  Lane control_;
  std::array<Lane, kLanes> lanes_;
  Transfer* previous_ = nullptr;
  Transfer* next_ = nullptr;
};

}  // namespace tutti::sim
