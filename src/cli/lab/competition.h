// Competition: MPI programs that read from one cluster of this host at the same time, again and again, with the modelled disk
// in real time. What `tutti demo` shows and `coord-spread --real` measures.
//
// In each round every rank of every program reads its next bytes, in one or several requests at once, all from the same
// moment on. A round of a program is over when its last rank has its bytes. The programs check what they read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "cli/client.h"
#include "cli/cluster/local_cluster.h"
#include "cli/command.h"
#include "cli/mpi_program.h"

namespace tutti::cli {

struct CompetitionOptions {
  std::uint32_t servers = 4;
  std::uint32_t programs = 4;
  std::uint32_t ranks = 4;     // of each program
  std::uint32_t requests = 1;  // of each rank at once
  Bytes request = 1_MiB;
  std::uint32_t rounds = 12;
  Nanos period = 800_ms;  // from one round to the next

  // What the files take.
  [[nodiscard]] Bytes bytes() const { return request * requests * ranks * rounds * programs; }
};

// Seconds of each round, by program: numbers 1, 2, ... are their application ids.
using RoundTimes = std::vector<std::vector<double>>;

class Competition {
 public:
  // All references must outlive it. `interrupt` as of catch_interrupts().
  Competition(const Globals& globals, const StateDirectory& state, CompetitionOptions options, int interrupt)
      : globals_(globals), state_(state), options_(options), interrupt_(interrupt) {}

  // Makes the cluster and the files that are read; the servers are down again afterwards, and with them every cache of
  // the modelled disks.
  Status prepare();
  // One competition under the policy. `look`, if there is one, is called every kLook while it lasts, with a client of
  // the cluster.
  static constexpr Nanos kLook = 40_ms;
  Result<RoundTimes> run(const MpiProgram& program, const std::string& policy,
                         const std::function<void(Client&)>& look);

 private:
  struct Programs;
  Status start(const MpiProgram& program, Programs& programs) const;
  Result<std::vector<double>> end_of(std::size_t number, Programs& programs, Client& client,
                                     const std::function<void(Client&)>& look) const;

  const Globals& globals_;
  const StateDirectory& state_;
  CompetitionOptions options_;
  int interrupt_;
};

}  // namespace tutti::cli
