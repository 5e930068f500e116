// window: coordination by time window and application (paper 1, sections 3.1 and 4.1).
//
// All servers serve one application at a time, in the same order, without talking to each other: what decides
// is in the request. A smaller priority goes first:
//   priority = (request time in ms / interval in ms) * 32768 + application id
// in one queue for the whole server, dispatched one by one from its head. An empty queue serves at once. An
// earlier window always goes first, so nothing starves. The requests of an application in a window form one
// group, which stays together even if another application has the same 15-bit id (then the 64-bit ids
// decide). Within a group priorities are equal, and `within` decides. Two requests that touch the same bytes, and not
// only to read, are never in service at once.
//
// Parameters (name;key=value):
//   interval        ms, 1000. See with_default_interval() for the default by device.
//   request_clock   client | server: whether the request time is that of the tag, the paper's way, or that of the
//                   arrival at the server. Tags are the same on all servers, arrivals are not, so windows cut
//                   operations apart more often with "server"; it needs no trust in clients.
//   dispatch_depth  how many requests are in service at once, 1. With more, and to a degree with any, a request may
//                   arrive that ranks before one in service: a crossover, counted in counters().
//   together        how many requests of one application and window are in service at once, 1; nothing of another one
//                   joins them. For devices that serve several requests as fast as one (solid state): the order of
//                   applications stays, and the device is used. Use 16 there.
//   quantum         at most so many bytes are served before the queue is asked again, 128KiB; "max": whole requests.
//                   A request that is not finished competes again with its old priority. So one that ranks
//                   higher and comes late waits for one quantum of each in service at most, not for whole
//                   requests. Less than the kernel's read-ahead window (128 KiB) leaves a fast device waiting.
//   order           which application goes first within a window:
//     id              the paper's: the smallest id. Administrators can set precedence, but low ids win each window.
//     rotated         fair turns, see window_turn().
//     smallest        the application with the least load on its most loaded server goes first, the rule of thumb for
//                     concurrent open shop; see below.
//   within          which request of an application goes first within a window:
//     offset          by object and offset, in sweeps (see sweeps.h). The processes of an application read and write one
//                     file in one order of ranks; their requests come in another.
//     arrival         first come, first served.
//   load            for smallest, what the clients' tags (QueuedRequest::bottleneck) are: "burst", each already
//                   speaks for the whole application, the largest in the group counts; "operations", each
//                   speaks for one operation, the sum over the group's operations (client, sequence) counts.
//   patience, unit  for smallest: windows, 4, and bytes, 1MiB; see below.
//   adaptive        true | false: whether the interval follows the load, between min_interval and max_interval
//                   (250 and 2000 ms; both and interval by powers of two apart). It begins with twice the
//                   interval, at most max_interval; see window_grid.h.
//
// Smallest first, and its bound. A group's load is what the tags say, and at least the bytes that are asked
// for here, which is also the guess where there is no tag. It can grow while requests arrive, never shrink. A
// group ranks by
//   (window + demotion, load, application),  demotion = min(patience, bit width of load / unit)
// so in one window the order is by load alone, and a large group also lets smaller ones of the next
// `demotion` windows pass: waiting in proportion to size. It ages because the others' windows move on and its
// own does not: a request of window w goes before every one of window w + patience + 1 and later, whatever
// their sizes. It therefore waits for no request that was issued (patience + 1) * interval or more after it;
// with the other orders, for none issued `interval` or more after it.
//
// Cost: a change takes O(log groups + log requests of the group).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/request/flat_map.h"
#include "policy/request/indexed_heap.h"
#include "policy/request/policy.h"
#include "policy/request/sweeps.h"
#include "policy/request/window_grid.h"

namespace tutti {

class Parameters;

// The paper's application id, 0 to 32767: ids in that range, as administrators set them, stay; others are
// hashed.
std::uint64_t paper_application_id(std::uint64_t application);

// The paper's req_prior. Times before 1970 count as 1970.
std::uint64_t paper_priority(Nanos request_time, Nanos interval, std::uint64_t application);

// The application's place in the window for order=rotated, smaller first. A hash of window and application,
// so all servers compute it alike and every order of the applications is equally likely, whatever ids they
// have: a turn of the ids themselves, (id + window) mod 32768, would favour whoever follows a gap. Windows go
// in pairs, of which the second has the reverse order of the first: applications that are in both have the
// same mean place after each pair, exactly.
std::uint64_t window_turn(std::uint64_t window_number, std::uint64_t application);

// "window" without an interval gets the one that the paper found best for the device: rotational 1000 ms,
// else 250 ms. Any other text comes back as it is.
std::string with_default_interval(std::string_view policy, bool rotational);

struct WindowOptions {
  enum class Order : std::uint8_t { id, rotated, smallest };
  enum class Within : std::uint8_t { offset, arrival };
  enum class Load : std::uint8_t { burst, operations };
  enum class RequestClock : std::uint8_t { client, server };
  Nanos interval = 1000_ms;
  RequestClock request_clock = RequestClock::client;
  std::uint64_t dispatch_depth = 1;
  std::uint64_t together = 1;
  Bytes quantum = 128_KiB;
  Order order = Order::id;
  Within within = Within::offset;
  Load load = Load::burst;
  std::uint64_t patience = 4;
  Bytes unit = 1_MiB;
  bool adaptive = false;
  Nanos min_interval = 250_ms;
  Nanos max_interval = 2000_ms;
};

class WindowPolicy : public RequestPolicy {
 public:
  explicit WindowPolicy(const WindowOptions& options);
  static std::vector<std::string_view> parameters();
  static Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters);

  [[nodiscard]] std::string name() const override;
  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  [[nodiscard]] std::size_t queued() const override { return lanes_.size() - lanes_.in_service(); }
  [[nodiscard]] PolicyCounters counters() const override;

 private:
  using Lane = Sweeps::Lane;
  struct Rank {
    std::uint64_t window = 0;
    std::uint64_t place = 0;
    std::uint64_t application = 0;
    auto operator<=>(const Rank&) const = default;
  };
  // The requests of one application in one window. Lives as long as one of them is in line or in service.
  struct Group {
    TimeWindow window;
    std::uint64_t application = 0;
    std::uint64_t load = 0;
    FlatMap<NumberPair, HashOfPair> operations;  // those counted in the load, by client and sequence
    Rank rank;
  };
  struct InService {
    std::uint64_t id = 0;
    Lane lane = 0;
    Rank rank;
    Sweeps::Claim claim;
    bool crossed = false;
  };

  Lane group_of(const QueuedRequest& request);
  void add_load(Group& group, const QueuedRequest& request) const;
  [[nodiscard]] Rank rank_of(const Group& group) const;
  // Whether the head of the lane, which is the first in line, may be served beside those in service.
  [[nodiscard]] bool may_go(Lane lane) const;
  void note_crossovers(const Rank& arrived);
  void settle(Lane lane);
  void measure(Nanos now);

  WindowOptions options_;
  WindowGrid grid_;
  Sweeps lanes_;                               // one for each group
  std::vector<Group> groups_;                  // by lane
  FlatMap<NumberPair, HashOfPair> by_window_;  // (window's start, application) to lane
  IndexedHeap<Rank> heads_;                    // lanes that have somebody in line
  std::vector<InService> in_service_;          // at most dispatch_depth or together
  PolicyCounters counters_;
};

}  // namespace tutti
