// A cluster on this host: bringing it up and down, for the commands `up`, `down`, `demo` and `bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/cluster/daemon.h"
#include "cli/command.h"
#include "client/cluster_config.h"
#include "daemon/state_directory.h"

namespace tutti::cli {

// Unset: as stored in the directory, or the default for a new cluster.
struct UpOptions {
  std::optional<std::uint32_t> servers;
  std::optional<std::string> policy;
  std::optional<std::string> stripe_size;
  std::optional<std::uint32_t> stripe_count;
  std::optional<std::string> log_level;
  std::optional<std::string> device;
  std::optional<std::string> checksums;
  std::optional<std::string> coordinator;  // of a new cluster: "meta" or "alone"
  bool loopback_tcp =
      false;  // a new cluster whose clients come by TCP over the loopback device, as if from afar
  std::string protect = "none";  // with it: nobody is between a host and itself
};

struct UpReport {
  ClusterConfig config;
  std::string policy;                // that the cluster follows: `tutti policy set` may have changed it since
  std::vector<std::string> started;  // names of daemons
  bool fresh = false;                // the directory was made now
};

// Makes the cluster if there is none, starts the daemons that do not run, and returns when all answer.
// Code::busy if all run already. When it fails, what it started is stopped again.
Result<UpReport> bring_up(const Globals& globals, const StateDirectory& state, const UpOptions& options);

// Stops all daemons. Code::not_found if none runs.
Result<std::vector<Stopped>> bring_down(const StateDirectory& state);

}  // namespace tutti::cli
