// Accounting: who used a data server, and who waited for whom. Pure.
//
// A request that waits for a second while another application is served has waited a second for that application.
// Where several are in service at a time, the time is shared among them by their number; time in which nobody is
// served (a policy may wait) is accounted to nobody. So over all applications `served` sums up to the time that the
// server was busy, and what a request waited for sums up to its time in queue less the server's pauses.
//
// At most kMostApplications are told apart. When one more comes, the one that has been quiet for longest and has
// nothing here joins the others, who are accounted as one; if all have something here, the new one does.
//
// Cost: an event costs O(1) and one pass over a row of at most kMostApplications + 1 numbers; nothing depends on the
// length of the queue. For each application the number in queue is constant between two of its own events, so what
// it waited for meanwhile is that number times what the others were served: a difference of two sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tutti {

class Accounting {
 public:
  static constexpr std::size_t kMostApplications = 64;
  using Slot = std::uint32_t;  // names an application while it has something here
  static constexpr Slot kOthers = 0;

  struct Row {
    std::uint64_t application = 0;  // meaningless if `others`
    bool others = false;
    std::string program, job;  // of the first client seen
    std::uint64_t reads = 0, writes = 0;
    Bytes bytes_read, bytes_written;
    std::size_t queued = 0, in_service = 0;
    Nanos time_in_queue;  // over all its requests
    Nanos served;
    struct Waited {
      std::uint64_t application = 0;
      bool others = false;
      Nanos time;
    };
    std::vector<Waited> waited_for;  // itself too
  };

  // A request has joined the queue.
  Slot arrived(std::uint64_t application, std::string_view program, std::string_view job, Nanos now);
  // One of the application's requests has gone from the queue into service, back into the queue, out of service for
  // good, or out of the queue for good.
  void started(Slot slot, Nanos now);
  void returned(Slot slot, Nanos now);
  void ended(Slot slot, Nanos now);
  void dropped(Slot slot, Nanos now);
  // Requests have been served well.
  void count(Slot slot, bool write, Bytes length, std::uint64_t requests = 1);

  // Whether no other application has anything in the queue or in service.
  [[nodiscard]] bool nobody_but(std::uint64_t application) const;
  // In the order of their first request; the others, if there are any, last.
  [[nodiscard]] std::vector<Row> rows(Nanos now);

 private:
  static constexpr std::size_t kSlots = kMostApplications + 1;
  struct Account {
    std::string program, job;
    std::uint64_t reads = 0, writes = 0;
    Bytes bytes_read, bytes_written;
    std::size_t queued = 0;
    std::size_t in_service = 0;
    std::uint64_t touched = 0;  // number of its last event
    // Nanoseconds as floating point: a sum over many requests outgrows 64 bits. Up to `settled` they are complete.
    Nanos settled;
    double in_queue = 0;
    std::array<double, kSlots> waited{};
    std::array<double, kSlots> seen{};  // served_ as of `settled`
  };

  [[nodiscard]] Slot find(std::uint64_t application) const;
  Slot vacate();
  void reset(Slot slot, std::uint64_t application);
  // Brings served_ up to now.
  void advance(Nanos now);
  // Brings the application's own account up to now.
  void settle(Slot slot, Nanos now);
  void begin_service(Slot slot);
  void end_service(Slot slot);

  std::vector<Account> accounts_ = std::vector<Account>(1);  // the others first
  std::vector<std::uint64_t> applications_ = {0};            // by slot; that of the others has none
  std::array<double, kSlots> served_{};                      // nanoseconds, by slot
  std::vector<Slot> serving_;                                // who has something in service, each once
  std::size_t in_service_ = 0;
  Nanos served_until_;
  std::uint64_t events_ = 0;
};

}  // namespace tutti
