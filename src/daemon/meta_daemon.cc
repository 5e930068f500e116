#include "daemon/meta_daemon.h"

#include <unistd.h>

#include <utility>

#include "daemon/gate_state.h"
#include "daemon/metadata_options.h"
#include "env/real/kv/lmdb_kv.h"
#include "server/meta/meta_server.h"

namespace tutti {

MetaServerOptions metadata_options(const ClusterConfig& config) {
  MetaServerOptions options;
  options.cluster = config.id;
  options.data_servers = config.data;
  options.stripe_size = config.stripe_size;
  options.stripe_count = config.stripe_count;
  options.policy = config.policy;
  options.gate = config.gate_options();
  options.coordinator = config.coordinator;
  options.capability_lifetime = config.capability_lifetime;
  options.open_grace = config.open_grace;
  options.root_uid = config.owner ? config.owner->uid : ::geteuid();
  options.root_gid = config.owner ? config.owner->gid : ::getegid();
  return options;
}

Status serve_meta(Daemon& daemon) {
  const ClusterConfig& config = daemon.config;
  LmdbOptions lmdb;
  lmdb.map_size = config.metadata_limit;
  lmdb.create = false;
  auto kv = LmdbKv::open(daemon.loop, daemon.state.store_path("meta"), lmdb);
  if (!kv.ok()) return kv.status();
  MetaServerOptions options = metadata_options(config);
  options.create = false;
  options.enrol = true;
  std::unique_ptr<Kv> gate_state;
  if (config.coordinator.empty()) {
    auto opened = open_gate_state(daemon);
    if (!opened.ok()) return opened.status();
    gate_state = *std::move(opened);
    options.gate_state = gate_state.get();
  }
  MetaServer server(daemon.env(), **kv, daemon.key, options);
  TUTTI_TRY(daemon.loop.run(server.open()));
  auto listeners = listen(daemon, config.meta);
  if (!listeners.ok()) return listeners.status();
  std::vector<Task<Status>> serving;
  serving.push_back(server.refused());
  for (auto& each : *listeners) serving.push_back(server.serve(std::move(each)));
  return serve_until_signal(daemon, std::move(serving), server.settled());
}

}  // namespace tutti
