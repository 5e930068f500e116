#include "daemon/coordinator_daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "daemon/gate_state.h"
#include "env/real/kv/lmdb_kv.h"
#include "server/coordinator/coordinator_server.h"

namespace tutti {

namespace {

Task<Status> at_once() { co_return Status(); }

}  // namespace

Status serve_coordinator(Daemon& daemon) {
  const ClusterConfig& config = daemon.config;
  if (config.coordinator.empty()) {
    return {Code::invalid,
            fmt::format("{} names no coordinator, so the metadata server is it: write coordinator = "
                        "\"ADDRESS\" to run one alone",
                        daemon.state.config_path())};
  }
  LmdbOptions lmdb;
  lmdb.map_size = config.metadata_limit;
  lmdb.create = false;
  auto kv = LmdbKv::open(daemon.loop, daemon.state.store_path(daemon.name), lmdb);
  if (!kv.ok()) return kv.status();
  auto gate_state = open_gate_state(daemon);
  if (!gate_state.ok()) return gate_state.status();
  const std::uint32_t owner = config.owner ? config.owner->uid : ::geteuid();
  CoordinatorServer server(daemon.env(), **kv, daemon.key, config.id,
                           {config.data, config.policy, owner, config.gate_options(), gate_state->get()});
  TUTTI_TRY(daemon.loop.run(server.open()));
  auto listeners = listen(daemon, config.coordinator);
  if (!listeners.ok()) return listeners.status();
  std::vector<Task<Status>> serving;
  for (auto& each : *listeners) serving.push_back(server.serve(std::move(each)));
  return serve_until_signal(daemon, std::move(serving), at_once());
}

}  // namespace tutti
