// Daemon: what every daemon of a cluster is made of, and how it begins and ends.
//
// A daemon is made from its state directory, serves in one thread until SIGTERM or SIGINT, and tells whoever started it
// when it serves. The servers themselves are in src/server; here they get a real world to live in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "base/status.h"
#include "client/cluster_config.h"
#include "daemon/state_directory.h"
#include "env/env.h"
#include "env/real/local_files.h"
#include "env/real/loop/loop.h"
#include "env/real/network/socket_network.h"
#include "server/capability.h"

namespace tutti {

struct DaemonOptions {
  std::string config;  // the cluster.toml of the state directory
  std::string log;     // file to append to; empty: standard error
  int ready_fd = -1;   // who waits for it to serve; -1: nobody
};

// What a daemon needs whichever kind it is. Members are destroyed in reverse: the loop last.
struct Daemon {
  StateDirectory state;
  ClusterConfig config;
  std::string name;
  ServerKey key;
  Log log;
  Fd claimed;
  Loop loop;
  std::unique_ptr<Signals> signals;
  std::unique_ptr<SocketNetwork> network;
  Random random{1};
  int ready_fd = -1;

  [[nodiscard]] Env env() { return {loop.clock(), *network, random, log}; }
};

// Makes the daemon NAME of a state directory (state_directory.h) and runs `serve` with it. Returns when it ends.
Status run_daemon(const DaemonOptions& options, const std::string& name,
                  const std::function<Status(Daemon&)>& serve);

// Where a daemon listens: at its address in the cluster file, and for clients on its host at a local socket.
Result<std::vector<std::unique_ptr<Listener>>> listen(Daemon& daemon, const std::string& address);
// Serves until a signal comes or serving fails. When `ready` has ended well, whoever started the daemon is told that it
// serves; with an error the daemon ends.
Status serve_until_signal(Daemon& daemon, std::vector<Task<Status>> serving, Task<Status> ready);

// Tells whoever started the daemon (descriptor `fd`; -1: nobody) that it serves, or why not.
void say_ready(int fd, const Status& status);
// Tells the service manager that started it (systemd, Type=notify), if one did.
void notify_manager(std::string_view state);

}  // namespace tutti
