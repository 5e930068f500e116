// The parameters of the request policy `window`, and how they are read and written.
//
// Parameters (name;key=value), with defaults that follow the device (see for_device()):
//   interval        ms: of all windows. Without it the interval is adaptive, and with adaptive=false it is 1000 on rotating
//                   disks, else 250, which the paper found best.
//   adaptive        true | false: whether the interval follows the load; see window_grid.h. Default true unless an interval is
//                   given: a window is about twice as long as a request takes, so that nobody waits much longer than first
//                   come, first served would let him, and requests of an application that belong together still fall
//                   into one. It begins with the interval, 256 on rotating disks, else 8.
//   min_interval, max_interval, rounds
//                   of an adaptive one: ms, 4 and 1024 (they and the interval are powers of two apart), and how many times
//                   the time that a request takes, 2.
//   request_clock   client | server: whether the request time is that of the tag, the paper's way, or that of the
//                   arrival at the server. Tags are the same on all servers, arrivals are not, so windows cut
//                   operations apart more often with "server"; it needs no trust in clients.
//   dispatch_depth  how many requests are in service at once, 31 on rotating disks (all that their queue takes), else 16: the
//                   first in rank, then those that rank next, so that no slot stays empty while somebody waits. With more than one, and to a degree with one, a request may
//                   arrive that ranks before one in service: a crossover, counted in counters().
//   budget          nothing is started beside so many bytes in service: enough to keep a device busy, so that large
//                   requests follow each other in rank instead of sharing the device. 256KiB on rotating disks, else 1MiB.
//   budget_time     us: or so many bytes as the device reads in this time, if that is more and one application has been alone for a
//                   second: 1MiB does not fill the fastest. 1000, and 0 (never) if a budget is given, as on rotating disks.
//   small           requests of at most so many bytes do not count in the budget: 64KiB on rotating disks, where they are a
//                   seek and little more, and a disk that has many to choose from saves half of the seeks; else 0.
//   write_budget    instead of budget and quantum for writes, unless it is 0. 4MiB on rotating disks: a disk takes writes into
//                   its cache and brings them to the platter in its own order; one by one each waits for a turn of the platter.
//   quantum         at most so many bytes are served before the queue is asked again; "max": whole requests. 256KiB. A request
//                   that is not finished competes again with its old priority. So one that ranks higher and comes late
//                   waits for budget and quantum at most, not for whole requests. Less than the kernel's read-ahead window
//                   (128 KiB) leaves a fast device waiting.
//   quantum_time    us: the same for the quantum of reads. From memory the network alone takes time, and with short turns all servers
//                   would send to one client at a time. 40, and 0 (never) if a quantum is given, and on rotating disks.
//   ahead           blocks of so many bytes are fetched ahead of programs that read forward (see forward_reads.h); 0: none. 8MiB on
//                   rotating disks, where two programs that read would otherwise cost each other a jump for every few
//                   requests; else 0.
//   order           which application goes first within a window:
//     id              the paper's: the smallest id. Administrators can set precedence, but low ids win each window.
//     classes         the default: by load in powers of two, the least first, and in fair turns among applications of one
//                     class; see window_rank.h.
//     rotated         fair turns alone: the order of the applications is drawn anew every `period`; see window_turn() in
//                     window_rank.h.
//     smallest        the application with the least load on its most loaded server goes first, the rule of thumb for
//                     concurrent open shop; see window_rank.h.
//   period          ms, of the fair turns: 8192. While an order lasts, applications that come back get ahead one behind the other,
//                   which lowers the mean; the longer it lasts, the longer the last one has to wait for its luck to change.
//   within          which request of an application goes first within a window:
//     offset          by object and offset, in sweeps (see sweeps.h). The processes of an application read and write one
//                     file in one order of ranks; their requests come in another.
//     arrival         first come, first served.
//   load            for classes and smallest, what the clients' tags (QueuedRequest::bottleneck) are: "operations", the
//                   default, each speaks for one operation, the sum over the group's operations (client, sequence) counts;
//                   "burst", each already speaks for the whole application, the largest in the group counts.
//   patience, unit  for classes and smallest: windows, 4, and bytes, 1MiB; see window_rank.h.
//
// The paper to the letter is kPaperWindow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

class Parameters;

// What "window", "auto" and "orchestrated" do not say gets the value for the device, rotating or not. Any other text comes back as it is.
std::string for_device(std::string_view policy, bool rotational);

// Behind "window;interval=1000" or 250: the policy as the paper describes it. Its platform moves requests in buffers of
// 256 KiB (PVFS2's FlowBufferSizeBytes), one operation each.
inline constexpr std::string_view kPaperWindow =
    ";dispatch_depth=1;quantum=256KiB;order=id;within=arrival;ahead=0";

struct WindowOptions {
  enum class Order : std::uint8_t { id, rotated, smallest, classes };
  enum class Within : std::uint8_t { offset, arrival };
  enum class Load : std::uint8_t { operations, burst };
  enum class RequestClock : std::uint8_t { client, server };
  Nanos interval = 8_ms;
  RequestClock request_clock = RequestClock::client;
  std::uint64_t dispatch_depth = 16;
  Bytes budget = 1_MiB;
  Bytes small;
  Bytes write_budget;
  Bytes quantum = 256_KiB;
  Nanos budget_time;
  Nanos quantum_time;
  Bytes ahead;
  Order order = Order::classes;
  Nanos period = 8192_ms;
  Within within = Within::offset;
  Load load = Load::operations;
  std::uint64_t patience = 4;
  Bytes unit = 1_MiB;
  bool adaptive = true;
  Nanos min_interval = 4_ms;
  Nanos max_interval = 1024_ms;
  std::uint64_t rounds = 2;

  // Whether a request has the writes' budget.
  [[nodiscard]] bool apart(bool write) const { return write && write_budget > Bytes(); }
  [[nodiscard]] bool by_size() const { return order == Order::smallest || order == Order::classes; }
  [[nodiscard]] bool in_turns() const { return order == Order::rotated || order == Order::classes; }
};

// The keys that read_window_options() knows.
inline constexpr std::string_view kWindowParameters[] = {
    "interval",     "request_clock", "dispatch_depth", "budget",       "small",
    "write_budget", "quantum",       "order",          "period",       "within",
    "load",         "patience",      "unit",           "adaptive",     "min_interval",
    "max_interval", "rounds",        "budget_time",    "quantum_time", "ahead"};
Result<WindowOptions> read_window_options(const Parameters& parameters);
// "window;interval=1000;...": what read_window_options() makes the same options of.
std::string window_name(const WindowOptions& options);

}  // namespace tutti
