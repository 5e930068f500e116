// The parallel I/O scheduling problem: given transfers between clients and servers, each of which takes part in one at a time,
// in which order do they go so that all are done soonest? Pure.
//
// Stated by R. Jain, K. Somalwar, J. Werth, J. Browne, "Heuristics for scheduling I/O operations", IEEE TPDS 1997, and used by
// the paper on the order of visiting, whose figure 1 is the first test. Lengths are whole units of time; transfers of length 1
// make the paper's problem, in which a schedule is a colouring of the edges of a bipartite graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tutti {

struct ScheduleTransfer {
  std::string name;
  std::uint32_t client = 0;
  std::uint32_t server = 0;
  std::uint64_t length = 1;
};

// Transfers in order of arrival, which is also their order in the file.
struct ScheduleProblem {
  std::vector<std::string> clients;  // names
  std::vector<std::string> servers;
  std::vector<ScheduleTransfer> transfers;

  // Code::invalid if a transfer names nobody, has no length, or there is too much of anything.
  [[nodiscard]] Status validate() const;
};

enum class ScheduleMethod : std::uint8_t {
  fcfs,             // as many as possible at once, in order of arrival
  first,            // each client in the order of the file; whoever's server is busy waits for it
  hash,             // at step j client i goes to server (i + j) mod n; likewise
  random,           // each client in an order of its own, drawn; likewise
  hdf,              // highest degree first: whoever has the most transfers left chooses first, ties are drawn
  hdf_distributed,  // clients bid for one of their transfers, drawn; servers take whoever has the most left
  hcdf,             // highest common degree first: transfers by the sum of the degrees of both ends
  uar,              // uniformly at random: clients bid for a transfer, servers take a bid, both drawn
  mpasses,          // the same, with further passes for those that were turned down
  optimum,          // the shortest: transfers may be interrupted
};
inline constexpr std::uint32_t kPasses = 3;  // of mpasses

// In the order above.
std::vector<std::string> schedule_method_names();
// Code::invalid, with the known ones.
Result<ScheduleMethod> schedule_method(std::string_view name);

// A part of a transfer, from `start` on.
struct ScheduledPart {
  std::size_t transfer = 0;
  std::uint64_t start = 0;
  std::uint64_t length = 0;
};

struct Schedule {
  std::uint64_t length = 0;
  std::vector<ScheduledPart> parts;  // by start
};

// For a problem that is valid. The seed decides what is drawn. `optimum` interrupts transfers only if some are longer than 1;
// its length is bound(). Takes time in proportion to the transfers times those that are left at each step; `optimum` a matching
// for each of at most (clients + servers) squared steps.
Schedule make_schedule(const ScheduleProblem& problem, ScheduleMethod method, std::uint64_t seed = 1);

// The most that one client or server has to do: no schedule is shorter, and one of this length exists (König for transfers of
// equal length, which need not be interrupted; Gonzalez and Sahni for others).
std::uint64_t schedule_bound(const ScheduleProblem& problem);

// One row for each client, one column for each unit of time; long schedules are cut off at `columns`.
std::string schedule_table(const ScheduleProblem& problem, const Schedule& schedule,
                           std::size_t columns = 60);
// A lane for each server, as in figure 1.
std::string schedule_svg(const ScheduleProblem& problem, const Schedule& schedule, std::string_view title);

}  // namespace tutti
