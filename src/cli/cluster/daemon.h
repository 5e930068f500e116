// Daemons: starting and stopping the processes of a local cluster.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "daemon/state_directory.h"
#include "env/real/local_files.h"

namespace tutti::cli {

// A daemon that has been started and has yet to say that it serves.
struct Starting {
  std::string name;
  Fd ready;  // it writes "CODE: message" here, code 0 when it serves, then closes
};

// Starts `tutti serve` for "meta", "data.N" or "coordinator" in the background, in a session of its own, with its output in
// its log.
Result<Starting> start_daemon(const StateDirectory& state, const std::string& name);
// Waits until it serves. An error is the daemon's own, or Code::timed_out.
Status wait_until_ready(const StateDirectory& state, const Starting& starting, Nanos patience);

struct Stopped {
  std::string name;
  pid_t pid = 0;
  bool killed = false;  // it did not leave when asked to
};
// Stops those of `names` that run: SIGTERM, and after `patience` SIGKILL. Returns what it stopped, in order.
std::vector<Stopped> stop_daemons(const StateDirectory& state, const std::vector<std::string>& names,
                                  Nanos patience);

}  // namespace tutti::cli
