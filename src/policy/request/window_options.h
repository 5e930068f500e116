// The parameters of the request policy `window`, and how they are read and written.
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
//     rotated         fair turns, see window_turn() in window_rank.h.
//     smallest        the application with the least load on its most loaded server goes first, the rule of thumb for
//                     concurrent open shop; see window_rank.h.
//   within          which request of an application goes first within a window:
//     offset          by object and offset, in sweeps (see sweeps.h). The processes of an application read and write one
//                     file in one order of ranks; their requests come in another.
//     arrival         first come, first served.
//   load            for smallest, what the clients' tags (QueuedRequest::bottleneck) are: "burst", each already
//                   speaks for the whole application, the largest in the group counts; "operations", each
//                   speaks for one operation, the sum over the group's operations (client, sequence) counts.
//   patience, unit  for smallest: windows, 4, and bytes, 1MiB; see window_rank.h.
//   adaptive        true | false: whether the interval follows the load, between min_interval and max_interval
//                   (250 and 2000 ms; both and interval by powers of two apart). It begins with twice the
//                   interval, at most max_interval; see window_grid.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

class Parameters;

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

// The keys that read_window_options() knows.
inline constexpr std::string_view kWindowParameters[] = {
    "interval", "request_clock", "dispatch_depth", "together", "quantum",      "order",       "within",
    "load",     "patience",      "unit",           "adaptive", "min_interval", "max_interval"};
Result<WindowOptions> read_window_options(const Parameters& parameters);
// "window;interval=1000;...": what read_window_options() makes the same options of.
std::string window_name(const WindowOptions& options);

}  // namespace tutti
