// A program that is started and waited for, with a gate beside it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/gate/broker.h"

namespace tutti::cli {

// What is needed to stand at the gate of a cluster. Members are destroyed in reverse: the loop last.
struct GateWorld {
  ClusterConfig config;
  Log log;
  Loop loop;
  Random random{1};
  std::unique_ptr<SocketNetwork> network;

  // Of the cluster that --cluster, --dir and the environment name.
  static Result<std::unique_ptr<GateWorld>> open(const Globals& globals);
  // Without any: for who needs no coordinator.
  static std::unique_ptr<GateWorld> without_cluster();
  [[nodiscard]] Env env() { return {loop.clock(), *network, random, log}; }
  // For a session of `program`.
  [[nodiscard]] GateSessionOptions session_options(const Globals& globals, const std::string& program) const;
};

// What people call the words of a command: the first that is no launcher, option or number.
std::string program_name(const std::vector<std::string>& command);

// Starts the command in the environment as it is and drives the loop until it has ended. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2
// go on to it; SIGINT comes to it from the terminal. Returns its exit code, 128 and the signal if one ended it.
Result<int> run_and_wait(Loop& loop, const std::vector<std::string>& command);

}  // namespace tutti::cli
